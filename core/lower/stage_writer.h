// Writes the program of one pipeline stage: its slots in schedule order, what travels between stages, and the
// step's end.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/lower/chunk.h"
#include "core/lower/message_order.h"
#include "core/lower/parameters.h"

namespace tandem {

// A chunk lowered: its bodies and buckets; shared by all slots (and stages) that work on it.
struct LoweredChunk {
  ChunkContext context;
  ForwardBody forward;
  Body backward;        // when gradients are not split
  SplitBackward split;  // when they are
  std::vector<GradientBucket> buckets;
  Bytes input_bytes, output_bytes;  // that cross the borders, one microbatch, activations and gradients alike
};

class StageWriter {
 public:
  StageWriter(const ModelGraph&, const Plan&, const Shard&, Interner&,
              const std::vector<std::unique_ptr<LoweredChunk>>& chunks, const MessageOrder&,
              std::uint32_t stage);
  Program write();

 private:
  // One slot being written: where each task of its body stands in the program.
  struct SlotRun {
    const Slot* slot = nullptr;
    const LoweredChunk* chunk = nullptr;
    const Body* body = nullptr;
    bool forward = false, sends = false, reduces = false, gathers = false;
    bool exchanged = false;               // met a communication since it was last looked at
    bool computed = false, sent = false;  // the result is there; it is on its way
    const SlotRun* before = nullptr;      // paired slots send in the schedule's order, as receivers expect
    std::vector<std::uint32_t> at;        // body task -> program task
    std::vector<std::uint32_t> input,
        start;  // extra edges of tasks that need the border's tensor, of the first task
    std::vector<std::uint32_t>
        bucket_gathers;                   // first forward pass: by bucket, the task that gathers its parameters
    std::uint32_t layer_start = no_task;  // ZeRO-3: computation that the layer before this one began after
    std::uint32_t send_at = no_task;      // body task after which the result is sent
    std::size_t next_use = 0, next_ready = 0;
    std::vector<std::uint32_t> bucket_left, bucket_ready, bucket_first;
    struct Gathered {
      std::uint32_t buffer, until;
    };  // buffers given back at the body's task `until`
    std::vector<Gathered> gathered;
  };
  struct InFlight {
    std::uint32_t forward_base = no_task, input_base = no_task;
    std::vector<std::uint32_t> forward_end, handed_on, handed_back;
  };

  // stage_writer.cpp
  void write_slots();
  SlotRun begin_slot(const Slot&);
  bool advance(SlotRun&);  // one task of the body and what hangs on it; false when none is left
  void end_slot(SlotRun&);
  std::uint32_t add(const Task&, std::vector<std::uint32_t> after);
  std::uint32_t add(const std::string& label, Subject, Lane, Phase, const Work&,
                    std::vector<std::uint32_t> after, std::uint32_t microbatch = no_microbatch,
                    std::uint32_t chunk = 0, std::uint32_t message = no_message);
  std::uint32_t receive(std::uint32_t from, std::uint32_t message);
  void send_when_due(SlotRun&);
  void send(SlotRun&);
  bool is_next(std::uint32_t other) const;
  void release_memory(const SlotRun&);
  // gradient_reduction.cpp
  void gradients_finished(SlotRun&, std::uint32_t body_task);
  std::uint32_t reduce_bucket(const LoweredChunk&, std::size_t bucket, std::vector<std::uint32_t> after,
                              std::uint32_t microbatch);
  std::uint32_t gather_bucket(const LoweredChunk&, std::size_t bucket, std::vector<std::uint32_t> after,
                              std::uint32_t microbatch);
  std::uint32_t gather_layer(SlotRun&, LayerId, std::uint32_t until);
  // step_ends.cpp
  void write_static_memory();
  void write_step_begin();
  void write_step_end();

  const LoweredChunk& chunk_at(std::uint32_t own_chunk) const;
  std::uint32_t position_of(std::uint32_t own_chunk) const;
  bool hybrid() const;
  double shard_degree(bool expert) const;  // ranks that share one copy of the sharded state
  double own_elements() const;

  const ModelGraph& model_;
  const Plan& plan_;
  const Shard& shard_;
  Interner& interner_;
  const std::vector<std::unique_ptr<LoweredChunk>>& chunks_;
  const MessageOrder& messages_;
  std::uint32_t stage_;
  bool holds_embedding_ = false;
  ParameterCount parameters_;
  Program program_;
  std::array<std::uint32_t, 2> last_compute_{no_task, no_task};   // the last and the one before
  std::vector<InFlight> in_flight_;                               // by own chunk, microbatch
  std::unordered_map<std::uint32_t, std::uint32_t> received_;     // message -> receive task
  std::unordered_map<std::uint32_t, std::size_t> received_from_;  // sender -> how many receives were written
  std::uint32_t pending_send_ = no_task;                          // without overlap: computation waits for it
  std::vector<std::size_t> last_backward_, first_forward_;        // slot numbers, by own chunk
  std::vector<std::vector<std::uint32_t>> parameter_gathers_;     // by own chunk, bucket
  std::vector<std::uint32_t> reductions_;                         // gradient reductions so far
  std::uint32_t reduction_ahead_ =
      no_task;  // ZeRO-2: the next computation waits until it has freed its gradients
};

}  // namespace tandem
