// Hashing of works by their amounts.
#include "core/lower/interner.h"

#include <functional>

#include "core/problem/problem.h"

namespace tandem {
namespace {

class Hash {
 public:
  template <class T>
  Hash& add(T value) {
    state_ ^= std::hash<T>{}(value) + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2);
    return *this;
  }
  std::size_t value() const { return state_; }

 private:
  std::size_t state_ = 0;
};

void hash_kernel(Hash& hash, const MatrixProduct& p) { hash.add(p.m).add(p.n).add(p.k).add(p.batch); }
void hash_kernel(Hash& hash, const FusedAttention& a) {
  hash.add(a.q_length).add(a.kv_length).add(a.heads).add(a.backward);
}
void hash_kernel(Hash& hash, const MemoryPass& m) { hash.add(static_cast<int>(m.kind)).add(m.elements); }

std::size_t hash_of(const Work& work) {
  Hash hash;
  hash.add(work.index());
  if (const auto* compute = std::get_if<Compute>(&work)) {
    hash.add(static_cast<int>(compute->phase));
    std::visit([&](const auto& kernel) { hash_kernel(hash, kernel); }, compute->kernel);
  } else if (const auto* collective = std::get_if<Collective>(&work)) {
    hash.add(static_cast<int>(collective->kind))
        .add(static_cast<int>(collective->axis))
        .add(collective->size.value);
  } else if (const auto* send = std::get_if<Send>(&work)) {
    hash.add(send->peer).add(send->size.value);
  } else if (const auto* receive = std::get_if<Receive>(&work)) {
    hash.add(receive->peer).add(receive->size.value);
  }
  return hash.value();
}

}  // namespace

WorkId Interner::work(const Work& work) {
  std::vector<WorkId>& candidates = works_[hash_of(work)];
  for (WorkId id : candidates) {
    if (graph_.works[id] == work) return id;
  }
  const WorkId id = graph_.works.push_back(work);
  candidates.push_back(id);
  return id;
}

LabelId Interner::label(const std::string& text, Subject subject) {
  const auto [entry, fresh] = labels_.try_emplace(text);
  if (fresh) {
    entry->second = graph_.labels.push_back(text);
    graph_.subjects.push_back(subject);
  }
  // A buffer may have brought the label first.
  Subject& known = graph_.subjects[entry->second];
  if (known.part == Part::None) known = subject;
  check(subject.part == Part::None || known == subject, "a label has one subject");
  return entry->second;
}

}  // namespace tandem
