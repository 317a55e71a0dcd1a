// What follows from the reports of a step.
#include "exec/run/conductor.h"

#include <fmt/format.h>

namespace tandem {

Conductor::Conductor(const RunCase& run, std::size_t processes, Calls calls, bool terminal)
    : run_(run),
      calls_(std::move(calls)),
      recorder_(run),
      totals_(run, processes, recorder_.head()),
      lines_(!run.options.quiet, terminal) {
  if (run.options.pace) note("pace", text(*run.options.pace));
  if (run.options.balance_experts) note("routing", "balanced: rows go to all experts in turn");
}

AfterStep Conductor::step_done(const std::vector<RankReport>& ranks) {
  double loss = 0;
  for (const RankReport& rank : ranks) loss += rank.loss;
  const StepSpans step = recorder_.append(ranks, loss);
  totals_.add(ranks, step, loss);
  ++done_;
  show(step, loss);
  interrupted_ = calls_.interrupted();
  AfterStep after;
  after.stop = interrupted_ || done_ == run_.own_steps();
  const std::int64_t every = run_.options.checkpoint_every;
  after.checkpoint = calls_.publish && (after.stop || (every > 0 && (run_.first_step() + done_) % every == 0));
  return after;
}

void Conductor::show(const StepSpans& step, double loss) {
  lines_.show({.step = run_.first_step() + done_,
               .steps = run_.options.steps,
               .loss = loss,
               .floor = done_ == 1 ? run_.floor : std::nullopt,
               .tokens = run_.graph.tokens,
               .mfu = totals_.mfu(step.duration),
               .duration = step.duration,
               .left = totals_.step_time() * static_cast<double>(run_.own_steps() - done_),
               .memory = totals_.resident()});
}

void Conductor::clocks_compared(Nanoseconds moved, Nanoseconds uncertainty) {
  note("clocks",
       fmt::format("of several machines, aligned at the start within {:.1f} us, moved by {:.1f} us at most",
                   static_cast<double>(uncertainty) * 1e-3, static_cast<double>(moved) * 1e-3));
}

RunRecord Conductor::finish() {
  lines_.end();
  note("load", load_text(load_, machine_load()));
  if (interrupted_) note("interrupted", fmt::format("after {} of {} steps", done_, run_.options.steps));
  RunRecord result = totals_.result();
  result.header.notes.insert(notes_.begin(), notes_.end());
  recorder_.finish({.links = {}, .summary = result.summary, .notes = result.header.notes});
  return result;
}

void Conductor::fail(const std::string& why) {
  lines_.end();
  recorder_.fail(why);
}

}  // namespace tandem
