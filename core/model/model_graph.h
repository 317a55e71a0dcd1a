// A model as a directed acyclic graph of operators (Boost.Graph), grouped into layers, the grain at which
// stages are cut.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/operator.h"

namespace tandem {

// How a tensor lies on the ranks of a tensor-parallel group.
enum class Layout : std::uint8_t {
  Sequence,  // whole on each rank, or, under sequence parallelism, each rank holds its share of the tokens
  Width,     // each rank holds its share of the width (heads, mlp columns, logits)
  Expert,    // tokens after dispatch: each rank holds the rows routed to its experts
};

struct Tensor {
  std::string name;  // "L3.mlp.up.out"
  OperatorId producer;
  // Elements a token, unsplit; for Layout::Expert, elements a routed row. What a per_sequence operator writes
  // has one row a sequence.
  std::int64_t width = 0;
  Sequence sequence = Sequence::Main;
  Layout layout = Layout::Sequence;
  // Kept from forward to backward because some gradient needs it (inputs of products and norms, attention's q k
  // v out, …). A tensor is kept once however many consumers need it.
  bool saved = false;
  // Extra bytes kept a token beside the tensor itself, unsplit (dropout masks: 1 byte an element of width).
  std::int64_t mask_bytes = 0;
};

// A repeated group of operators: "embedding", "L0", "L1", …, "head"; encoder layers come before decoder layers
// ("E0"). Operators of a layer are contiguous in the graph's order.
struct Layer {
  std::string name;
  std::uint32_t kind = 0;  // layers of one kind are equal but for their place: lowered once
  OperatorId first, last;  // inclusive
  enum class Role : std::uint8_t { Embedding, Block, Head } role = Role::Block;
};

// The Boost.Graph type is in core/model/dag.h, which only core/model needs: its headers are slow to compile.
struct Dag;

// Invariants, checked by build_model: acyclic and stored in topological order; one producer a tensor; widths of
// consumers agree; parameter counts equal the specification's.
class ModelGraph {
 public:
  ModelGraph(Dag dag, std::vector<Tensor> tensors, std::vector<Layer> layers, std::string model_name);

  const Dag& dag() const { return *dag_; }
  const std::string& name() const { return name_; }
  std::size_t size() const { return outputs_.size(); }
  const Operator& operator[](OperatorId id) const;
  const Tensor& operator[](TensorId id) const { return tensors_[id.value]; }
  const Layer& operator[](LayerId id) const { return layers_[id.value]; }
  std::span<const Tensor> tensors() const { return tensors_; }
  std::span<const Layer> layers() const { return layers_; }
  // Tensors an operator reads, in argument order, and the one it writes (every operator writes exactly one).
  std::vector<TensorId> inputs(OperatorId) const;
  TensorId output(OperatorId) const;
  std::vector<OperatorId> consumers(TensorId) const;

  std::int64_t total_parameters() const;
  // Parameters that one token meets: all but the experts it is not routed to.
  std::int64_t active_parameters() const;
  bool has_experts() const;
  bool has_encoder() const;  // an encoder sequence beside the main one
  bool tied_embeddings() const;

 private:
  std::shared_ptr<const Dag> dag_;  // immutable: copies of a ModelGraph share it
  std::vector<Tensor> tensors_;
  std::vector<Layer> layers_;
  std::vector<TensorId> outputs_;
  std::string name_;
};

// Checks the invariants above and throws std::logic_error (our mistake) where one is broken.
void check_model(const ModelGraph&);

}  // namespace tandem
