// The voice's task, and the pace of its audio.
#include "actors/voice/mouth.hpp"

#include <cmath>
#include <cstdio>

#include "integrations/voice/wire.hpp"

namespace quell::controller::voice {
namespace {

using namespace std::chrono_literals;
constexpr auto pump_interval = 50ms;
constexpr std::size_t most_waiting_bytes = 32 << 20; ///< a quarter of an hour
constexpr double usual_words_per_minute = 175;

void fill_in(std::string& word, const std::string& name, const std::string& value) {
  for (auto at = word.find(name); at != std::string::npos; at = word.find(name, at + value.size()))
    word.replace(at, name.size(), value);
}

} // namespace

void mouth::speak(const operation_id& exchange, const speaker& who, const std::string& text, double speed) {
  task_ = std::make_shared<turns::piped_task>(context_->work, "the voice of " + who.scope.text(),
                                              turns::piped_task::carried_by::speech_work);
  create_order order;
  order.by = turns::agent_runtime::acting_for(who.author);
  order.parent = exchange;
  order.name = context_->settings.speak.front();
  order.title = "speech";
  order.task.command = context_->settings.speak;
  char factor[16];
  std::snprintf(factor, sizeof factor, "%.2f", speed);
  for (auto& word : order.task.command) {
    fill_in(word, "{wpm}", std::to_string(std::lround(usual_words_per_minute * speed)));
    fill_in(word, "{speed}", factor);
  }
  order.task.on = context_->settings.on;
  order.task.slots = 0;
  order.task.leader_exit = on_leader_exit::kill;
  order.grace = milliseconds{0}; // it needs no cleanup
  const auto on_loop = [loop = context_->loop, weak = weak_from_this()](auto what) {
    loop->post([weak, what = std::move(what)] {
      if (const auto self = weak.lock(); self && !self->is_hushed_) what(*self);
    });
  };
  task_->start(std::move(order), {[] {},
                                  [on_loop](std::string_view bytes) {
                                    on_loop([samples = std::string(bytes)](mouth& self) {
                                      self.waiting_ += samples;
                                      if (self.waiting_.size() > most_waiting_bytes) return self.give_up();
                                      self.pump();
                                    });
                                  },
                                  [on_loop](const std::string& why, bool was_stopped) {
                                    on_loop([why, was_stopped](mouth& self) {
                                      const bool is_well = !was_stopped && why == "exited with status 0";
                                      self.end_ = is_well ? std::string() : why;
                                      self.pump();
                                    });
                                  }});
  task_->write(text);
  task_->end_input();
}

void mouth::hush() {
  if (std::exchange(is_hushed_, true)) return;
  waiting_.clear();
  ++waits_;
  if (!task_ || end_) return;
  task_->stop(stop_cause::superseded);
  task_->let_go();
}

void mouth::give_up() {
  hush();
  end_ = "it is longer than a quarter of an hour";
  is_over_ = true;
  const auto self = shared_from_this(); // the callbacks can release it
  hooks_.over(*end_);
  wait_until_played();
}

void mouth::delayed(std::size_t samples) {
  pace_.delayed(context_->work->core.now().boot, samples);
  if (is_over_) wait_until_played();
}

void mouth::wait_until_played() {
  const auto left = pace_.audible_for(context_->work->core.now().boot);
  context_->loop->after(left, [weak = weak_from_this(), n = ++waits_] {
    const auto self = weak.lock();
    if (self && self->waits_ == n) self->hooks_.played();
  });
}

void mouth::pump() {
  if (is_pumping_ || is_hushed_ || is_over_) return;
  const auto self = shared_from_this(); // the callbacks can release it
  const auto now = context_->work->core.now().boot;
  while (waiting_.size() > 1 && pace_.may_send(now) && !is_hushed_) {
    const auto size = std::min(waiting_.size() & ~std::size_t{1}, integrations::voice::most_speech_bytes);
    const auto piece = waiting_.substr(0, size);
    waiting_.erase(0, size);
    pace_.sent(now, size / 2);
    hooks_.chunk(piece);
  }
  if (is_hushed_) return;
  if (waiting_.size() > 1) {
    is_pumping_ = true;
    return context_->loop->after(pump_interval, [weak = weak_from_this()] {
      const auto later = weak.lock();
      if (!later) return;
      later->is_pumping_ = false;
      later->pump();
    });
  }
  if (!end_) return;
  is_over_ = true;
  hooks_.over(*end_);
  if (!is_hushed_) wait_until_played();
}

} // namespace quell::controller::voice
