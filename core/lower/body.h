// What one chunk does for one microbatch in one phase: lowered once, repeated in each slot of the schedule.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/lower/interner.h"
#include "core/task/task_graph.h"

namespace tandem {

constexpr std::uint32_t no_task = 0xffffffffu;
// Stands for "when it arrives from the neighbouring chunk" in lists of tasks to wait for.
constexpr std::uint32_t from_neighbour = 0xfffffffeu;

// Indices of tasks count from the body's first task.
struct Body {
  struct Proto {
    WorkId work;
    LabelId label;
    Lane lane = Lane::Compute;
    Phase phase = Phase::Forward;
    // Off the compute lane and fed by nothing in the body: may run beside the computation before it, but not
    // earlier.
    bool floating = false;
  };
  std::vector<Proto> protos;
  std::vector<std::uint32_t> after_begin{0}, after;

  // Memory taken and given back inside the body.
  struct Temporary {
    BufferClass memory_class;
    Bytes size;
    std::uint32_t take, give;
    LabelId label;
  };
  std::vector<Temporary> temporaries;
  // Memory that stays until a later body of the same microbatch gives it back.
  struct Kept {
    Bytes size;
    std::uint32_t take;
    LabelId label;
  };
  std::vector<Kept> kept;
  // What this body gives back: entries of the forward's (or the input gradient's) `kept`.
  struct Release {
    std::uint32_t kept, give;
  };
  std::vector<Release> releases_forward, releases_input_gradient;

  std::vector<std::uint32_t> waits_for_input;  // tasks that need what the neighbouring stage sends
  std::vector<std::uint32_t> output_ready;     // tasks after which the result may be sent on
  // First task of each layer, in order of execution: parameters gathered for the layer must be there.
  struct LayerUse {
    std::uint32_t task;
    LayerId layer;
  };
  std::vector<LayerUse> layer_uses;
  // Last task that adds to an operator's parameter gradients.
  struct GradientReady {
    std::uint32_t task;
    OperatorId op;
  };
  std::vector<GradientReady> gradients_ready;
};

// Appends tasks to a body.
class BodyWriter {
 public:
  BodyWriter(Body& body, Interner& interner) : body_(body), interner_(interner) {}

  // `deps` are earlier tasks of the body; those of the same lane are implied and dropped, as is no_task.
  // from_neighbour enters the task in the body's waits_for_input, once a lane.
  std::uint32_t add(LabelId label, Lane lane, Phase phase, const Work& work, std::vector<std::uint32_t> deps);
  std::uint32_t last() const { return static_cast<std::uint32_t>(body_.protos.size()) - 1; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(body_.protos.size()); }
  bool empty() const { return body_.protos.empty(); }
  Body& body() { return body_; }
  Interner& interner() { return interner_; }

 private:
  Body& body_;
  Interner& interner_;
  std::array<bool, lane_count> waited_{};  // lanes on which some task already waits for the neighbour
};

}  // namespace tandem
