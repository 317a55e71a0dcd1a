// Gathers measured durations into tables.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/cost/profile.h"

namespace tandem {

class ProfileBuilder {
 public:
  // Several times of one shape are averaged, so that a step's sum over its tasks stays what was measured.
  void add(const std::string& device, const MeasuredKind&, const MeasuredShape&, Seconds);
  // Tables by device and kind, shapes rising. `source` stands in each.
  std::vector<ProfileRow> rows(const std::string& source) const;
  std::size_t shapes() const;

 private:
  struct Sum {
    Seconds time;
    int count = 0;
  };
  std::map<std::pair<std::string, MeasuredKind>, std::map<MeasuredShape, Sum>> tables_;
};

// The middle of an odd number of times, the mean of the two in the middle of an even one. Not empty.
Seconds median(std::vector<Seconds> times);

}  // namespace tandem
