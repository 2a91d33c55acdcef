// The recogniser's task. It takes no slot, so that full workers do not prevent a spoken stop, and has a scope of its
// own, so that a stop does not deafen the conversation to the words behind it.
#include "actors/voice/ears.hpp"

#include <algorithm>

namespace quell::controller::voice {

namespace {
constexpr const char* recogniser_scope = "quell/voice";
constexpr std::chrono::seconds first_wait{1}, longest_wait{30};
} // namespace

void ears::warm_up() {
  if (!task_) begin(0);
}

void ears::begin(std::size_t samples) {
  const auto& work = context_->work;
  task_ = std::make_shared<turns::piped_task>(work, "the recogniser of " + scope_.text(),
                                              turns::piped_task::carried_by::speech_work);
  lines_ = {};
  create_order order;
  order.by = turns::agent_runtime::acting_for({"quell", "quell"});
  order.scope = *scope_path::parse(recogniser_scope);
  order.name = context_->settings.hear.front();
  order.title = "recogniser";
  order.task.command = context_->settings.hear;
  order.task.on = context_->settings.on;
  order.task.slots = 0;
  order.task.leader_exit = on_leader_exit::kill;
  const auto on_loop = [loop = context_->loop, weak = weak_from_this(), which = task_.get()](auto what) {
    loop->post([weak, which, what = std::move(what)] {
      const auto self = weak.lock();
      if (self && self->task_.get() == which) what(*self);
    });
  };
  hooks_.begins(samples);
  task_->start(std::move(order),
               {[] {},
                [on_loop](std::string_view bytes) {
                  on_loop([text = std::string(bytes)](ears& self) {
                    for (const auto& r : self.lines_.read(text)) {
                      self.wait_ = {};
                      if (self.hooks_.on_recognised) self.hooks_.on_recognised(r);
                    }
                  });
                },
                [on_loop, which = task_.get()](const std::string& why, bool was_stopped) {
                  on_loop([why, was_stopped, which](ears& self) { self.over(which, why, was_stopped); });
                }});
  context_->recognisers.insert(task_->id());
}

void ears::over(const turns::piped_task* which, const std::string& why, bool was_stopped) {
  if (task_.get() != which) return;
  context_->recognisers.erase(task_->id());
  task_.reset();
  if (was_stopped) return;
  may_begin_ = context_->work->core.now().boot + wait_;
  const auto again =
      wait_.count() == 0 ? std::string() : "; it begins again in " + std::to_string(wait_.count()) + " s";
  wait_ = std::clamp(2 * wait_, first_wait, longest_wait);
  if (hooks_.failed) hooks_.failed("the recogniser (" + context_->settings.hear.front() + ") " + why + again);
}

bool ears::hear(const std::string& samples) {
  if (!task_ && context_->work->core.now().boot < may_begin_) return true;
  if (!task_) begin(samples.size() / 2);
  return task_->write(samples);
}

void ears::close() {
  hooks_ = {[](std::size_t) {}, {}, {}};
  if (!task_) return;
  context_->recognisers.erase(task_->id());
  task_->end_input();
  task_->stop(stop_cause::disconnect);
}

} // namespace quell::controller::voice
