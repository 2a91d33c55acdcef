// Moves bytes between a session here and a process on a worker.
#include "actors/turns/piped_task.hpp"

#include <algorithm>
#include <utility>

#include "controller/commands/command_request.hpp"
#include "controller/commands/create_local.hpp"
#include "controller/commands/stop_local.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t piece_bytes = 64 << 10;
constexpr std::size_t most_unsent = 16 << 20; ///< for a server that reads nothing
constexpr std::chrono::milliseconds pipe_look_interval{20};
constexpr int most_pipe_looks = 50; ///< 1 s for the last bytes of its output

std::string end_text(const ended_operation& e) {
  if (e.as == status::cancelled) return "was stopped";
  if (e.error && has_code(*e.error, failure_code::start_failed)) return "cannot be started: " + e.error->message;
  if (e.exit && e.exit->code) return "exited with status " + std::to_string(*e.exit->code);
  if (e.exit && e.exit->signal) return "was ended by signal " + *e.exit->signal;
  if (e.error) return "ended: " + e.error->message;
  return "ended as " + std::string(name_of(e.as));
}

} // namespace

void piped_task::carry(std::function<void()> step, std::chrono::milliseconds wait) {
  carrier().run_after(wait, [step = std::move(step)](store_reader&) { step(); });
}

void piped_task::start(create_order order, pipe_ends ends) {
  notice_ = std::move(ends.ended);
  ends_ = std::move(ends);
  id_ = operation_id::fresh();
  runtime_->registry.add_watcher(id_, shared_from_this());
  order.kind = kind::task;
  order.task.stdin_open = true;
  runtime_->core.execute(
      {commands::create_local{std::move(order), id_}, [self = shared_from_this()](const outcome<created>& made) {
         if (made) return;
         self->runtime_->registry.drop(self->id_);
         self->carry([self, why = made.error().error.detail] { self->finish("cannot be started: " + why, false); });
       }});
}

void piped_task::started(const std::string& worker) {
  carry([self = shared_from_this(), worker] {
    self->worker_ = worker;
    self->ends_.started();
    self->feed();
    self->read_more();
  });
}

bool piped_task::write(std::string bytes) {
  if (is_over_) return true;
  if (accepted_ + bytes.size() > most_unsent) {
    runtime_->log.warn(name_, name_ + " reads nothing: what it should get is dropped", runtime_->core.now().boot);
    return false;
  }
  accepted_ += bytes.size();
  carry([self = shared_from_this(), bytes = std::move(bytes)] { self->append(bytes); });
  return true;
}

void piped_task::append(const std::string& bytes) {
  if (is_over_ || has_end_) return;
  unsent_ += bytes;
  feed();
}

void piped_task::end_input() {
  carry([self = shared_from_this()] {
    if (self->has_end_) return;
    self->has_end_ = self->wants_end_ = true;
    self->feed();
  });
}

void piped_task::feed() {
  if (is_over_ || is_feeding_ || worker_.empty() || (unsent_.empty() && !wants_end_)) return;
  const auto piece = unsent_.substr(0, piece_bytes);
  const bool is_last = wants_end_ && piece.size() == unsent_.size();
  const auto taken =
      runtime_->output->input(id_, worker_, sent_, piece, is_last ? stdin_then::closed : stdin_then::open);
  if (!taken && !has_code(taken.error(), error_code::rate_limited)) return; // it no longer reads: its end follows
  if (taken) {
    const auto moved = std::min<std::uint64_t>(*taken - std::min(*taken, sent_), unsent_.size());
    unsent_.erase(0, moved);
    sent_ += moved;
    accepted_ -= moved;
    if (is_last && unsent_.empty()) wants_end_ = false; // the end was sent
  }
  if (unsent_.empty() && !wants_end_) return;
  is_feeding_ = true;
  carry(
      [self = shared_from_this()] {
        self->is_feeding_ = false;
        self->feed();
      },
      taken ? std::chrono::milliseconds{0} : pipe_look_interval);
}

void piped_task::stop(stop_cause cause) { runtime_->core.execute({commands::stop_local{{id_}, cause}, {}}); }

void piped_task::let_go() { is_over_ = true; }

/// Reads the output so far; true: no more will come.
bool piped_task::read_all() {
  for (;;) {
    if (is_over_) return true;
    const auto slice = runtime_->output->read(id_, stream::out, read_, piece_bytes);
    if (!slice) return false;
    if (slice->offset > read_) {
      runtime_->log.warn(name_, name_ + " lost " + std::to_string(slice->offset - read_) + " bytes of its output",
                         runtime_->core.now().boot);
      read_ = slice->offset;
    }
    read_ += slice->bytes.size();
    if (!slice->bytes.empty()) ends_.received(slice->bytes);
    if (slice->bytes.empty() || slice->end) return slice->end;
  }
}

/// Reads the output so far, then waits for more.
void piped_task::read_more() {
  if (is_over_ || read_all()) return;
  runtime_->output->watch(id_, read_, runtime_->output->counts(id_).stderr_bytes, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->carry([self] { self->read_more(); });
  });
}

/// The end and the last output arrive on different connections.
void piped_task::read_last(const std::string& why, bool was_stopped, int tries) {
  if (read_all() || tries == 0) return finish(why, was_stopped);
  carry([self = shared_from_this(), why, was_stopped, tries] { self->read_last(why, was_stopped, tries - 1); },
        pipe_look_interval);
}

void piped_task::ended(const ended_operation& e) {
  if (notice_) notice_(e);
  carry([self = shared_from_this(), why = end_text(e), was_stopped = e.as == status::cancelled] {
    self->read_last(why, was_stopped, most_pipe_looks);
  });
}

void piped_task::finish(const std::string& why, bool was_stopped) {
  if (is_over_.exchange(true)) return;
  std::exchange(ends_, {}).gone(why, was_stopped); // the callbacks can hold this object
}

} // namespace quell::controller::turns
