// Slots of one stage in schedule order: bodies, receives before them, sends after them.
#include "core/lower/stage_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/problem/problem.h"

namespace tandem {

StageWriter::StageWriter(const ModelGraph& model, const Plan& plan, const Shard& shard, Interner& interner,
                         const std::vector<std::unique_ptr<LoweredChunk>>& chunks, const MessageOrder& messages,
                         std::uint32_t stage)
    : model_(model),
      plan_(plan),
      shard_(shard),
      interner_(interner),
      chunks_(chunks),
      messages_(messages),
      stage_(stage) {
  const std::vector<ChunkPlace>& own = plan.schedule.chunks[stage];
  in_flight_.resize(own.size() * plan.microbatches);
  last_backward_.assign(own.size(), 0);
  first_forward_.assign(own.size(), no_task);
  parameter_gathers_.resize(own.size());
  for (const ChunkPlace& place : own) holds_embedding_ = holds_embedding_ || place.position == 0;
  const std::vector<Slot>& slots = plan.schedule.slots[stage];
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].phase == SlotPhase::Forward)
      first_forward_[slots[i].chunk] = std::min(first_forward_[slots[i].chunk], i);
    if (slots[i].phase == SlotPhase::Backward || slots[i].phase == SlotPhase::WeightGradient)
      last_backward_[slots[i].chunk] = i;
  }
  for (std::uint32_t c = 0; c < own.size(); ++c) {
    for (std::uint32_t o = chunk_at(c).context.first.value; o <= chunk_at(c).context.last.value; ++o) {
      parameters_ += parameters_of(model, shard, OperatorId(o), holds_embedding_);
    }
  }
}

std::uint32_t StageWriter::position_of(std::uint32_t own_chunk) const {
  return plan_.schedule.chunks[stage_][own_chunk].position;
}
const LoweredChunk& StageWriter::chunk_at(std::uint32_t own_chunk) const {
  return *chunks_[position_of(own_chunk)];
}

Program StageWriter::write() {
  program_.after_begin.push_back(0);
  write_static_memory();
  write_step_begin();
  write_slots();
  write_step_end();
  return std::move(program_);
}

std::uint32_t StageWriter::add(const Task& task, std::vector<std::uint32_t> after) {
  std::erase_if(after, [&](std::uint32_t t) { return t == no_task || program_.tasks[t].lane == task.lane; });
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  const auto index = static_cast<std::uint32_t>(program_.tasks.size());
  program_.tasks.push_back(task);
  program_.after.insert(program_.after.end(), after.begin(), after.end());
  program_.after_begin.push_back(static_cast<std::uint32_t>(program_.after.size()));
  if (task.lane == Lane::Compute) last_compute_ = {index, last_compute_[0]};
  return index;
}

std::uint32_t StageWriter::add(const std::string& label, Subject subject, Lane lane, Phase phase,
                               const Work& work, std::vector<std::uint32_t> after, std::uint32_t microbatch,
                               std::uint32_t chunk, std::uint32_t message) {
  Task task;
  task.work = interner_.work(work);
  task.label = interner_.label(label, subject);
  task.lane = lane;
  task.phase = phase;
  task.microbatch = microbatch;
  task.chunk = static_cast<std::uint16_t>(chunk);
  task.message = message;
  return add(task, std::move(after));
}

void StageWriter::write_slots() {
  const std::vector<Slot>& slots = plan_.schedule.slots[stage_];
  for (std::size_t i = 0; i < slots.size(); ++i) {
    SlotRun run = begin_slot(slots[i]);
    if (!slots[i].paired_with_next || i + 1 == slots.size()) {
      while (advance(run)) {
      }
      end_slot(run);
      continue;
    }
    // Two slots side by side, in turn up to the next exchange of each: it travels while the other one computes.
    SlotRun other = begin_slot(slots[++i]);
    other.before = &run;
    for (bool more = true; more;) {
      more = false;
      for (SlotRun* turn : {&run, &other}) {
        turn->exchanged = false;
        bool left = true;
        while (!turn->exchanged && (left = advance(*turn))) {
        }
        more = more || left;
        send_when_due(other);
      }
    }
    end_slot(run);
    end_slot(other);
  }
}

StageWriter::SlotRun StageWriter::begin_slot(const Slot& slot) {
  SlotRun run;
  run.slot = &slot;
  run.chunk = &chunk_at(slot.chunk);
  run.forward = slot.phase == SlotPhase::Forward;
  const bool weight = slot.phase == SlotPhase::WeightGradient;
  run.body = run.forward                              ? &run.chunk->forward.body
             : slot.phase == SlotPhase::Backward      ? &run.chunk->backward
             : slot.phase == SlotPhase::InputGradient ? &run.chunk->split.input_gradient
                                                      : &run.chunk->split.weight_gradient;
  const ChunkPlace place = plan_.schedule.chunks[stage_][slot.chunk];
  const std::uint32_t last_position = static_cast<std::uint32_t>(plan_.chunks.size()) - 1;
  const auto slot_number = static_cast<std::size_t>(&slot - plan_.schedule.slots[stage_].data());
  run.sends = !weight && (run.forward ? place.position < last_position : place.position > 0);
  if (run.sends) run.send_at = *std::max_element(run.body->output_ready.begin(), run.body->output_ready.end());
  run.gathers = plan_.spec.zero_stage >= 3;
  run.reduces = !run.forward && slot.phase != SlotPhase::InputGradient &&
                (plan_.spec.zero_stage >= 2 || slot_number == last_backward_[slot.chunk]);
  if (run.reduces) {
    run.bucket_ready.assign(run.chunk->buckets.size(), no_task);
    run.bucket_first.assign(run.chunk->buckets.size(), no_task);
    for (const GradientBucket& bucket : run.chunk->buckets) {
      run.bucket_left.push_back(static_cast<std::uint32_t>(bucket.operators.size()));
    }
  }
  run.at.reserve(run.body->protos.size());
  run.start.push_back(pending_send_);
  pending_send_ = no_task;

  InFlight& flight = in_flight_[slot.chunk * plan_.microbatches + slot.microbatch];
  const bool receives = !weight && (run.forward ? place.position > 0 : place.position < last_position);
  if (receives) {
    const std::uint32_t neighbour = run.forward ? place.position - 1 : place.position + 1;
    const Schedule::Home home = plan_.schedule.home({neighbour, place.direction});
    if (home.stage == stage_) {
      const InFlight& there = in_flight_[home.chunk * plan_.microbatches + slot.microbatch];
      run.input = run.forward ? there.handed_on : there.handed_back;
      check(!run.input.empty(), "a neighbouring chunk of the same stage ran before");
    } else {
      const std::uint32_t border = run.forward ? neighbour : place.position;
      const std::uint32_t message = messages_.number(border, place.direction, slot.microbatch, !run.forward);
      run.input = {receive(home.stage, message)};
    }
  } else if (!run.forward && !weight) {
    run.start.insert(run.start.end(), flight.forward_end.begin(), flight.forward_end.end());
  }
  if (run.forward && place.position == 0 && plan_.spec.data_bytes_per_sample.value > 0) {
    const Bytes size = plan_.spec.data_bytes_per_sample * static_cast<double>(plan_.tokens.batch);
    run.start.push_back(add("input", {.part = Part::Input}, Lane::Input, Phase::Forward,
                            WaitForInput{Seconds(0), size}, {}, slot.microbatch, slot.chunk));
  }
  const std::vector<std::uint32_t>& gathers = parameter_gathers_[slot.chunk];
  if (run.forward && slot_number == first_forward_[slot.chunk] && !gathers.empty())
    run.bucket_gathers = gathers;
  return run;
}

bool StageWriter::advance(SlotRun& run) {
  const auto task = static_cast<std::uint32_t>(run.at.size());
  const Body& body = *run.body;
  if (task == body.protos.size()) return false;

  std::vector<std::uint32_t> after;
  while (run.next_use < body.layer_uses.size() && body.layer_uses[run.next_use].task == task) {
    const LayerId layer = body.layer_uses[run.next_use].layer;
    ++run.next_use;
    const std::uint32_t until = run.next_use < body.layer_uses.size()
                                    ? body.layer_uses[run.next_use].task - 1
                                    : static_cast<std::uint32_t>(body.protos.size()) - 1;
    if (run.gathers) {
      after.push_back(gather_layer(run, layer, until));
    } else if (!run.bucket_gathers.empty()) {
      // Gathered while earlier layers compute: this layer waits for the buckets that hold its parameters.
      for (std::size_t b = 0; b < run.chunk->buckets.size(); ++b) {
        if (run.chunk->buckets[b].first_layer <= layer) after.push_back(run.bucket_gathers[b]);
      }
    }
  }
  const Body::Proto& proto = body.protos[task];
  for (std::uint32_t i = body.after_begin[task]; i < body.after_begin[task + 1]; ++i)
    after.push_back(run.at[body.after[i]]);
  if (task == 0) after.insert(after.end(), run.start.begin(), run.start.end());
  if (std::find(body.waits_for_input.begin(), body.waits_for_input.end(), task) != body.waits_for_input.end()) {
    after.insert(after.end(), run.input.begin(), run.input.end());
  } else if (proto.floating) {
    after.push_back(last_compute_[1]);
  }
  if (proto.lane == Lane::Compute && reduction_ahead_ != no_task)
    after.push_back(std::exchange(reduction_ahead_, no_task));
  Task made;
  made.work = proto.work;
  made.label = proto.label;
  made.lane = proto.lane;
  made.phase = proto.phase;
  made.microbatch = run.slot->microbatch;
  made.chunk = run.slot->chunk;
  run.at.push_back(add(made, std::move(after)));
  run.exchanged = run.exchanged || proto.lane != Lane::Compute;
  if (run.reduces) gradients_finished(run, task);
  run.computed = run.computed || task == run.send_at;
  send_when_due(run);
  return true;
}

void StageWriter::end_slot(SlotRun& run) {
  InFlight& flight = in_flight_[run.slot->chunk * plan_.microbatches + run.slot->microbatch];
  const Body& body = *run.body;
  std::vector<std::uint32_t> ready;
  for (std::uint32_t task : body.output_ready) ready.push_back(run.at[task]);
  if (run.forward) {
    flight.handed_on = ready;
    flight.forward_end = ready;
  } else if (run.slot->phase != SlotPhase::WeightGradient) {
    flight.handed_back = ready;
  }
  release_memory(run);
}

// The lane towards a neighbour in the ring of stages; with two stages each is the other's only neighbour.
bool StageWriter::is_next(std::uint32_t other) const {
  return other == (stage_ + 1) % plan_.schedule.stages && (plan_.schedule.stages > 2 || other > stage_);
}

// Receives of a sender are written in the order in which it sends, so that both lanes agree.
std::uint32_t StageWriter::receive(std::uint32_t from, std::uint32_t message) {
  const std::vector<std::uint32_t>& order = messages_.between(from, stage_);
  std::size_t& written = received_from_[from];
  while (!received_.contains(message)) {
    check(written < order.size(), "the sender's order holds the message");
    const std::uint32_t number = order[written++];
    const MessageOrder::Message arriving = messages_[number];
    const Bytes size = chunks_[arriving.border]->output_bytes;
    const std::uint32_t task =
        add(arriving.gradient ? "gradient.receive" : "activation.receive",
            {.part = arriving.gradient ? Part::GradientReceive : Part::ActivationReceive},
            is_next(from) ? Lane::ReceiveNext : Lane::ReceivePrevious,
            arriving.gradient ? Phase::InputGradient : Phase::Forward, Receive{Axis::Pipeline, from, size}, {},
            arriving.microbatch, 0, number);
    program_.buffers.push_back({BufferClass::Communication, size, task, task, program_.tasks[task].label});
    received_.emplace(number, task);
  }
  return received_.at(message);
}

void StageWriter::send_when_due(SlotRun& run) {
  if (!run.computed || run.sent || (run.before && run.before->sends && !run.before->sent)) return;
  run.sent = true;
  send(run);
}

void StageWriter::send(SlotRun& run) {
  const ChunkPlace place = plan_.schedule.chunks[stage_][run.slot->chunk];
  const std::uint32_t neighbour = run.forward ? place.position + 1 : place.position - 1;
  const std::uint32_t to = plan_.schedule.home({neighbour, place.direction}).stage;
  if (to == stage_) return;
  const Bytes size = run.forward ? run.chunk->output_bytes : run.chunk->input_bytes;
  const std::uint32_t border = run.forward ? place.position : place.position - 1;
  const std::uint32_t message = messages_.number(border, place.direction, run.slot->microbatch, !run.forward);
  std::vector<std::uint32_t> after;
  for (std::uint32_t task : run.body->output_ready) after.push_back(run.at[task]);
  const std::uint32_t task = add(
      run.forward ? "activation.send" : "gradient.send",
      {.part = run.forward ? Part::ActivationSend : Part::GradientSend},
      is_next(to) ? Lane::SendNext : Lane::SendPrevious, run.forward ? Phase::Forward : Phase::InputGradient,
      Send{Axis::Pipeline, to, size}, std::move(after), run.slot->microbatch, run.slot->chunk, message);
  program_.buffers.push_back({BufferClass::Communication, size, task, task, program_.tasks[task].label});
  if (!plan_.spec.overlap_p2p_comm) pending_send_ = task;
}

void StageWriter::release_memory(const SlotRun& run) {
  InFlight& flight = in_flight_[run.slot->chunk * plan_.microbatches + run.slot->microbatch];
  const Body& body = *run.body;
  const auto keep = [&](std::uint32_t& base) {
    base = static_cast<std::uint32_t>(program_.buffers.size());
    for (const Body::Kept& kept : body.kept) {
      program_.buffers.push_back(
          {BufferClass::Activations, kept.size, run.at[kept.take], whole_step, kept.label});
    }
  };
  if (run.forward) keep(flight.forward_base);
  if (run.slot->phase == SlotPhase::InputGradient) keep(flight.input_base);
  for (const Body::Release& release : body.releases_forward) {
    program_.buffers[flight.forward_base + release.kept].give = run.at[release.give];
  }
  for (const Body::Release& release : body.releases_input_gradient) {
    program_.buffers[flight.input_base + release.kept].give = run.at[release.give];
  }
  for (const SlotRun::Gathered& gathered : run.gathered)
    program_.buffers[gathered.buffer].give = run.at[gathered.until];
  for (const Body::Temporary& temporary : body.temporaries) {
    program_.buffers.push_back({temporary.memory_class, temporary.size, run.at[temporary.take],
                                run.at[temporary.give], temporary.label});
  }
}

}  // namespace tandem
