// The first model call of a turn: the order that begins the turn opens it, so that both are one transaction, and the
// agent is made while they are on their way to the disk.
#include <utility>

#include "actors/turns/turn_port.hpp"

namespace quell::controller::turns {

void turn_port::adopt_first_call(first_model_call what) {
  const std::lock_guard lock(guard_);
  open_call_ = what.id;
  expected_of_open_ = std::move(what.expected);
  first_ = adopted_call{what.id, {}, {}};
}

void turn_port::expect_first_call() {
  std::optional<operation_id> id;
  {
    const std::lock_guard lock(guard_);
    if (first_) id = first_->id;
  }
  if (id) expect_call(*id, call_of::model);
}

/// The agent can have asked for it already, or will.
void turn_port::first_call_opened(const outcome<created>& made) {
  std::optional<adopted_call> now;
  {
    const std::lock_guard lock(guard_);
    if (!first_) return;
    first_->opened = made ? result<operation_id>(first_->id) : tl::unexpected(made.error().error);
    now = first_;
    if (first_->done) first_.reset();
  }
  if (!made) runtime_->registry.drop(now->id);
  if (now->done) now->done(*now->opened);
}

bool turn_port::takes_first_call(actors::answer<result<operation_id>>& done) {
  std::optional<adopted_call> now;
  {
    const std::lock_guard lock(guard_);
    if (!first_) return false;
    if (!first_->opened) {
      first_->done = std::move(done);
      return true;
    }
    now = std::exchange(first_, std::nullopt);
  }
  done(*now->opened);
  return true;
}

} // namespace quell::controller::turns
