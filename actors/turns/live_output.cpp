// Waits for more output, then for its turn.
#include "actors/turns/live_output.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "actors/turns/json_text.hpp"
#include "actors/turns/whole_characters.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::milliseconds pause{200}; ///< between two looks at one command
constexpr std::size_t most_shown = 4 << 10;     ///< of each stream at one look

} // namespace

live_output::live_output(std::shared_ptr<agent_runtime> runtime, const agent_context& who, const operation_id& call,
                         const tool_call& what)
    : runtime_(std::move(runtime)), event_(agent_runtime::event_of(who, event_type::tool_output, {})), call_(what.call),
      name_(what.name), operation_(call.text()) {}

void live_output::follow(const operation_id& task) {
  task_ = task;
  runtime_->background_reads->run_after(pause, [self = shared_from_this()](store_reader&) { self->look(); });
}

void live_output::end() { is_over_ = true; }

void live_output::look() {
  if (is_over_) return;
  const bool out_ends = show(stream::out, seen_out_, half_out_), err_ends = show(stream::err, seen_err_, half_err_);
  if (out_ends && err_ends) return;
  runtime_->output->watch(task_, seen_out_ + half_out_, seen_err_ + half_err_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->runtime_->background_reads->run_after(pause, [self](store_reader&) { self->look(); });
  });
}

/// True if the stream is complete.
bool live_output::show(stream which, std::uint64_t& seen, std::uint64_t& half) {
  half = 0;
  auto slice = runtime_->output->read(task_, which, seen, most_shown);
  if (!slice) return false;
  if (slice->size > seen + most_shown) { // more than is shown at once: only the newest
    slice = runtime_->output->read(task_, which, slice->size - most_shown, most_shown);
    if (!slice) return false;
  }
  if (slice->offset > seen) skip_rest_of_character(*slice);
  half = leave_begun_character(*slice);
  const auto skipped = slice->offset - std::min(seen, slice->offset);
  seen = std::max(seen, slice->offset + slice->bytes.size());
  if (slice->bytes.empty()) return slice->end;
  auto event = event_;
  event.at = runtime_->core.now().wall;
  event.data = json_text({{"call", call_},
                          {"name", name_},
                          {"operation", operation_},
                          {"stream", which == stream::out ? "stdout" : "stderr"},
                          {"offset", slice->offset},
                          {"text", slice->bytes},
                          {"skipped_bytes", skipped}});
  runtime_->tell_live(event);
  return slice->end;
}

} // namespace quell::controller::turns
