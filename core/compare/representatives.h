// Which recorded rank speaks for a rank: records of large runs keep some ranks for all.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "core/record/run_record.h"

namespace tandem {

// Ranks of the run: those that the recorded ones stand for, or as many as the summary's devices, where it has
// more (a prediction that played every rank keeps some, each for itself).
std::uint32_t ranks_of_run(const RunRecord&);

class Representatives {
 public:
  explicit Representatives(const RunRecord&);
  // The rank itself where it is recorded; else, of the recorded ranks of its stage that stand for others, the
  // last one before it (failing that, the first after it). None: the run had no such rank.
  std::optional<RankId> of(RankId rank, std::uint32_t stage) const;

 private:
  std::set<RankId> recorded_;
  std::map<std::uint32_t, std::set<RankId>> for_others_;  // by stage
};

}  // namespace tandem
