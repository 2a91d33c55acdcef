// Local messages between actors of one process. They are never serialised, so they can carry callbacks; messages
// between machines are in protocol/messages.hpp.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/frame_queue.hpp"
#include "actors/handoff_for_tsan.hpp"
#include "protocol/messages.hpp"

namespace quell::controller {
class commit_gate;
class store_reader;
} // namespace quell::controller

namespace quell::actors {

/// This queue holds frames: take a portion, in order, and announce the queue again if more remain.
struct frames_arrived {
  std::shared_ptr<frame_queue> from;
};

/// The journal has committed (or refused) everything up to this ticket.
struct batch_committed {
  std::uint64_t ticket = 0;
  bool failed = false;
  std::string code, detail; ///< the reason, if it failed
};

struct posted_command;

/// A command for the core (actors/posted_command.hpp). The receiver uses it up.
struct execute_command {
  std::shared_ptr<posted_command> posted;
};

/// A question for the core, which only reads (`commit_gate::ask`).
struct ask_core {
  using question = std::function<std::function<void()>(const controller::commit_gate&, moment)>;
  ask_core() = default;
  explicit ask_core(question requested) : what(annotate_handoff_for_tsan(std::move(requested))) {}
  question what;
};

/// INTERNAL: the clock has reached the instant at which the actor asked to be called.
struct clock_ticked {
  std::uint64_t generation = 0;
};

/// INTERNAL: the mailbox has been worked through: end the transaction.
struct burst_over {};

/// A job that may read the store, from an instant of the system's clock on. It is never copied.
struct run_job {
  using job = std::function<void(controller::store_reader&)>;
  run_job() = default;
  run_job(std::chrono::steady_clock::time_point at, job work)
      : due(at), what(std::make_shared<const job>(annotate_handoff_for_tsan(std::move(work)))) {}
  std::chrono::steady_clock::time_point due;
  std::shared_ptr<const job> what;
};

/// A step of a component.
struct run_step {
  run_step() = default;
  explicit run_step(std::function<void()> step) : what(annotate_handoff_for_tsan(std::move(step))) {}
  std::function<void()> what;
};

/// A step of a component, after a wait.
struct run_step_later {
  run_step_later() = default;
  run_step_later(milliseconds how_long, std::function<void()> step)
      : wait(how_long), what(annotate_handoff_for_tsan(std::move(step))) {}
  milliseconds wait{0};
  std::function<void()> what;
};

/// A planned stop: send the handover to the workers, then quit.
struct shut_down {
  std::function<void()> done;
};

} // namespace quell::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::frames_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::batch_committed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::execute_command)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::ask_core)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::clock_ticked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::burst_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::run_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::run_step)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::run_step_later)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(quell::actors::shut_down)
