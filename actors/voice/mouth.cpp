// The voice's task, and the pace of its audio.
#include "actors/voice/mouth.hpp"

#include <cmath>
#include <cstdio>

#include "integrations/voice/wire.hpp"

namespace quell::controller::voice {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t bytes_per_ms = 2 * integrations::voice::samples_per_second / 1000;
constexpr std::size_t ahead_bytes = 1000 * bytes_per_ms;
constexpr std::size_t most_waiting_bytes = 32 << 20; ///< a quarter of an hour
constexpr double usual_words_per_minute = 175;

void fill_in(std::string& word, const std::string& name, const std::string& value) {
  for (auto at = word.find(name); at != std::string::npos; at = word.find(name, at + value.size()))
    word.replace(at, name.size(), value);
}

} // namespace

void mouth::speak(const operation_id& exchange, const speaker& who, const std::string& text, double speed) {
  task_ = std::make_shared<turns::piped_task>(context_->work, "the voice of " + who.scope.text());
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
  if (!task_ || end_) return;
  task_->stop(stop_cause::superseded);
  task_->let_go();
}

void mouth::give_up() {
  hush();
  hooks_.over("it is longer than a quarter of an hour");
}

void mouth::pump() {
  if (is_pumping_ || is_hushed_) return;
  const auto now = context_->work->core.now().boot;
  if (!waiting_.empty() && !std::exchange(has_spoken_, true)) began_ = now;
  const auto elapsed = has_spoken_ ? std::chrono::duration_cast<milliseconds>(now - began_).count() : 0;
  const auto due = ahead_bytes + static_cast<std::size_t>(elapsed) * bytes_per_ms;
  while (waiting_.size() > 1 && sent_ < due && !is_hushed_) {
    const auto size = std::min(waiting_.size() & ~std::size_t{1}, integrations::voice::most_speech_bytes);
    const auto piece = waiting_.substr(0, size);
    waiting_.erase(0, size);
    sent_ += size;
    hooks_.chunk(piece);
  }
  if (is_hushed_) return;
  if (waiting_.size() > 1) {
    is_pumping_ = true;
    return context_->loop->after(50ms, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->is_pumping_ = false;
      self->pump();
    });
  }
  if (!end_) return;
  is_hushed_ = true;
  hooks_.over(*end_);
}

} // namespace quell::controller::voice
