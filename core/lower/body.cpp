// Tasks of a body with only the edges that lanes do not already imply.
#include "core/lower/body.h"

#include <algorithm>

namespace tandem {

std::uint32_t BodyWriter::add(LabelId label, Lane lane, Phase phase, const Work& work,
                              std::vector<std::uint32_t> deps) {
  std::erase(deps, no_task);
  if (std::erase(deps, from_neighbour) > 0) {
    bool& waited = waited_[static_cast<std::size_t>(lane)];
    if (!waited) body_.waits_for_input.push_back(size());
    if (deps.empty()) deps.push_back(size());  // not floating: its lane waits
    waited = true;
  }
  const bool floating = deps.empty() && lane != Lane::Compute;
  std::erase_if(deps, [&](std::uint32_t dep) { return dep == size() || body_.protos[dep].lane == lane; });
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  body_.protos.push_back({interner_.work(work), label, lane, phase, floating});
  body_.after.insert(body_.after.end(), deps.begin(), deps.end());
  body_.after_begin.push_back(static_cast<std::uint32_t>(body_.after.size()));
  return last();
}

}  // namespace tandem
