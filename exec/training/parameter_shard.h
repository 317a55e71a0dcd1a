// Where the part of a parameter that one rank holds lies in the whole parameter.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace tandem {

struct IndexRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const IndexRange&) const = default;
};

// Row-major, experts outermost: [experts][rows][columns]. Weights of products are [out][in], tables
// [rows][width], vectors [n][1].
struct ParameterShape {
  std::int64_t experts = 1, rows = 1, columns = 1;
  std::int64_t count() const { return experts * rows * columns; }
  bool operator==(const ParameterShape&) const = default;
};

// Local elements lie densely in row-major order: experts in order, then the pieces of `rows` one after another,
// then the columns. Pieces are ascending, so that local order is the order of the whole.
struct ParameterShard {
  OperatorId op;              // the operator that works with it; a tied operator works with another one's
  std::size_t parameter = 0;  // place in the owner's Operator::parameters
  std::string name;           // of the whole, one for all plans: "L3.mlp.up.weight"
  ParameterShape whole;       // without vocabulary padding
  IndexRange experts;
  std::vector<IndexRange> rows;  // may reach beyond whole.rows: vocabulary padding, always zero
  IndexRange columns;
  bool vector = false;      // one-dimensional: norms and biases
  bool expert = false;      // its gradient is summed over edp, not over dp x cp
  bool replicated = false;  // each tensor-parallel rank holds all of it
  bool tied_copy = false;   // the last stage's copy of a table that the first stage owns

  ParameterShape local() const;
};

// Parts that one rank holds of an operator's parameters, in the order of Operator::parameters; empty where it
// has none. A tied operator has its owner's, under the owner's name, when the rank's stage does not hold the
// owner. Needs a plan without check_parameter_shards' problems.
std::vector<ParameterShard> parameter_shards(const ModelGraph&, const Plan&, OperatorId, RankId);
// All that a rank holds, in model order: each whole parameter at most once.
std::vector<ParameterShard> parameter_shards(const ModelGraph&, const Plan&, RankId);

// Why parameters cannot be cut as the plan says: key-value heads fewer than tensor-parallel ranks.
std::vector<Problem> check_parameter_shards(const ModelGraph&, const Plan&);

// The operator whose table a tied operator shares; nothing for others.
std::optional<OperatorId> tied_owner(const ModelGraph&, OperatorId);

// Whether the rank's stage holds an operator's layer.
bool stage_holds(const ModelGraph&, const Plan&, OperatorId, RankId);

// Of the ranks that hold equal parts apart from data parallelism (replicas over tp, tied copies, DualPipe's
// mirror stages), one says yes: the one that counts in a global norm and writes a checkpoint.
bool is_first_copy(const Plan&, RankId, const ParameterShard&);

}  // namespace tandem
