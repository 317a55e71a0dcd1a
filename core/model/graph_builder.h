// Grows a ModelGraph operator by operator, layer by layer; decides at the end which tensors the backward pass
// keeps.
#pragma once
#include <string>
#include <vector>

#include "core/model/dag.h"
#include "core/model/model_graph.h"

namespace tandem {

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string model_name) : name_(std::move(model_name)) {}

  // Operators added between the two belong to the layer; a layer has at least one.
  void begin_layer(std::string name, Layer::Role role);
  void end_layer();

  struct Output {
    std::int64_t width = 0;
    Layout layout = Layout::Sequence;
    std::int64_t mask_bytes = 0;
  };
  // Adds an operator that reads `inputs` in argument order; gives the tensor it writes.
  TensorId add(Operator op, const std::vector<TensorId>& inputs, Output output);

  std::int64_t width(TensorId id) const { return tensors_[id.value].width; }

  // Marks saved tensors, gives equal layers one kind, and checks the graph.
  ModelGraph finish() &&;

 private:
  void mark_saved();
  void number_kinds();
  bool equal_layers(const Layer& a, const Layer& b) const;

  std::string name_;
  Dag dag_;
  std::vector<Tensor> tensors_;  // tensor i is written by operator i
  std::vector<Layer> layers_;
};

}  // namespace tandem
