// Performs the effects of the gateway's side.
#include "actors/voice/session.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "controller/stop_story.hpp"
#include "integrations/voice/words.hpp"

namespace quell::controller::voice {

namespace voices = integrations::voice;
namespace does = voices::gateway_effects;

namespace {

using namespace std::chrono_literals;
constexpr auto linger_time = 250ms;
constexpr auto fence_timeout = 5s;  ///< for the `cancelled` that a connection owes at its end
constexpr auto remainder_time = 2s; ///< between two parts of an answer that a brain gives sentence by sentence
constexpr auto rest_time = 50ms;    ///< much longer than a frame of a brain is on its way
constexpr auto words_timeout = 15s; ///< for a recogniser that possibly has to start first

} // namespace

session::session(voice_context_ref house, std::string id, speaker who, std::shared_ptr<voices::frame_link> link,
                 std::shared_ptr<brain_port> brain, std::function<void(const std::shared_ptr<session>&)> over)
    : context_(std::move(house)), id_(std::move(id)), who_(std::move(who)), link_(std::move(link)),
      brain_(std::move(brain)), over_(std::move(over)) {}

void session::begin() {
  const auto weak = weak_from_this();
  present_ = context_->present.enter(who_.scope, who_.author.id);
  ears_ = std::make_shared<ears>(context_, who_.scope,
                                 ears::hooks{[weak](std::size_t samples) {
                                               const auto self = weak.lock();
                                               if (self) self->gateway_.recogniser_begins(samples);
                                             },
                                             [weak](const voices::recognised& what) {
                                               const auto self = weak.lock();
                                               if (!self) return;
                                               if (what.is_final) self->is_behind_ = false;
                                               if (self->gateway_.on_recognised(what) && what.is_final)
                                                 self->words_.due.reset();
                                               self->perform();
                                             },
                                             [weak](const std::string& why) {
                                               const auto self = weak.lock();
                                               if (!self) return;
                                               spdlog::warn("voice {}: {}", self->id_, why);
                                               self->gateway_.tell(why);
                                               self->gateway_.on_nothing_recognised();
                                               self->perform();
                                             }});
  ears_->warm_up();
  brain_->begin({[weak](const frame& f) {
                   const auto self = weak.lock();
                   if (!self) return;
                   self->gateway_.on_brain_message(f);
                   if (const auto id = self->operation_of(self->gateway_.answered_exchange()))
                     self->context_->exchanges->answered(*id);
                   self->perform();
                 },
                 [weak](const std::string& why) {
                   const auto self = weak.lock();
                   if (!self) return;
                   self->gateway_.brain_gone(why);
                   self->perform();
                 },
                 [weak]() -> std::optional<operation_id> {
                   const auto self = weak.lock();
                   return self ? self->operation_of(self->gateway_.open_exchange()) : std::nullopt;
                 },
                 [weak](const operation_id& exchange) {
                   if (const auto self = weak.lock()) self->cancel_unanswered(exchange);
                 },
                 [weak](const std::string& question) {
                   if (const auto self = weak.lock()) self->gateway_.say(question);
                 }});
}

std::optional<operation_id> session::operation_of(std::optional<voices::exchange_number> n) const {
  const auto at = n ? operations_.find(*n) : operations_.end();
  return at == operations_.end() ? std::nullopt : std::optional(at->second);
}

/// If no cancel can be written, the exchange ends all the same.
void session::cancel_unanswered(const operation_id& exchange) {
  const auto at =
      std::find_if(operations_.begin(), operations_.end(), [&](const auto& one) { return one.second == exchange; });
  if (at == operations_.end()) return; // it ends already
  context_->exchanges->cancel_unanswered(exchange, [weak = weak_from_this(), n = at->first](bool was_taken) {
    const auto self = weak.lock();
    if (!self || was_taken) return;
    self->gateway_.failed(n, "its turn was cancelled");
    self->perform();
  });
}

void session::on_client_message(const frame& f) {
  gateway_.on_client_message(f);
  perform();
}

void session::client_broke(const fault& why) {
  gateway_.broken(why);
  perform();
}

void session::client_gone() {
  gateway_.client_gone();
  if (link_->is_lost()) gateway_.waited(); // nobody can read the `cancelled` that it is owed
  perform();
}

void session::shut_down(const fault& why) {
  is_released_ = true;
  gateway_.shut_down(why);
  perform();
}

void session::on_event(const records::event_record& e) {
  if (is_over_) return;
  if (e.type == event_type::acknowledgement) acknowledge(e);
  if (brain_ && (e.type == event_type::turn_complete || e.type == event_type::turn_abort ||
                 e.type == event_type::approval_required))
    brain_->on_event(e);
  perform();
}

/// Never ahead of the proof: the text comes when the stop has settled, or says that it has not, or which outcomes are
/// unknown. Words that were said twice stop the same work: the first report of each state is spoken, and one end.
void session::acknowledge(const records::event_record& e) {
  const auto stop = e.cancel ? stops_.find(*e.cancel) : stops_.end();
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  if (stop == stops_.end() || !data.is_object() || !data.contains("text") || !data["text"].is_string()) return;
  const auto state = data.value("state", std::string());
  if (std::exchange(stop->second, state) == state) return;
  if (!turns::more_follows(state)) stops_.erase(stop);
  const auto words = voices::without_signs(data["text"].get<std::string>());
  if (!words.empty()) gateway_.say(words);
}

/// An effect can cause further effects, and the end of the session.
void session::perform() {
  if (std::exchange(is_performing_, true)) return;
  const auto self = shared_from_this();
  for (auto all = gateway_.take(); !all.empty(); all = gateway_.take()) {
    if (gateway_.is_over() && brain_ && !std::exchange(has_parted_, true)) brain_->client_left();
    for (const auto& e : all) std::visit([this](const auto& one) { perform(one); }, e);
  }
  is_performing_ = false;
  if (gateway_.is_over()) release();
  if (gateway_.is_finished()) end();
}

/// Nobody is heard any more, while a `cancelled` can still be owed: the brain is free for the next client.
void session::release() {
  if (std::exchange(is_released_, true)) return;
  if (const auto here = std::exchange(present_, std::nullopt)) context_->present.leave(*here);
  ears_->close();
  for (const auto& [speech, one] : mouths_) one->hush();
  brain_.reset();
}

void session::end() {
  if (std::exchange(is_over_, true)) return;
  link_->close();
  std::exchange(over_, {})(shared_from_this());
}

void session::perform(const does::hear& e) { hear(e.samples); }

void session::perform(const does::end_of_speech&) {
  hear(std::string(2 * voices::pause_samples, '\0'));
  call_in(words_timeout, &session::words_, &voices::gateway_side::words_overdue);
}

void session::hear(const std::string& samples) {
  if (ears_->hear(samples)) return;
  gateway_.audio_left_out(samples.size() / 2);
  if (!std::exchange(is_behind_, true))
    gateway_.tell("the recogniser is minutes behind: what is said now is lost until it has caught up");
}

void session::after(std::chrono::milliseconds wait, std::function<void(session&)> what) {
  context_->loop->after(wait, [weak = weak_from_this(), what = std::move(what)] {
    const auto self = weak.lock();
    if (!self || self->is_over_) return;
    what(*self);
    self->perform();
  });
}

/// One timer at a time, however often a call is put off: it looks again at the time that was named last.
void session::call_in(std::chrono::milliseconds wait, late_call session::*which, void (voices::gateway_side::*what)()) {
  auto& call = this->*which;
  call.due = context_->work->core.now().boot + wait;
  if (!std::exchange(call.has_timer, true)) wait_for(wait, which, what);
}

void session::wait_for(std::chrono::milliseconds wait, late_call session::*which,
                       void (voices::gateway_side::*what)()) {
  after(wait, [which, what](session& self) {
    using std::chrono::milliseconds;
    auto& call = self.*which;
    const auto left = call.due ? *call.due - self.context_->work->core.now().boot : milliseconds{0};
    if (call.due && left > milliseconds{0}) return self.wait_for(std::chrono::ceil<milliseconds>(left), which, what);
    call.has_timer = false;
    if (std::exchange(call.due, std::nullopt)) (self.gateway_.*what)();
  });
}

void session::perform(const does::begin& e) {
  if (brain_) brain_->exchange_begins();
  const auto weak = weak_from_this();
  const auto n = e.n;
  operations_[n] = context_->exchanges->begin(who_, id_,
                                              {[weak, n] {
                                                 const auto self = weak.lock();
                                                 if (!self) return;
                                                 self->operations_.erase(n);
                                                 self->finishing_.erase(n);
                                                 self->gateway_.stopped(n);
                                                 self->perform();
                                               },
                                               [weak, n](const std::string& why) {
                                                 const auto self = weak.lock();
                                                 if (!self) return;
                                                 self->operations_.erase(n);
                                                 self->finishing_.erase(n);
                                                 self->gateway_.refused(n, why);
                                                 self->perform();
                                               }});
}

void session::perform(const does::cancel& e) {
  const auto late = finishing_.find(e.n);
  const bool has_finished = late != finishing_.end();
  const auto node = operations_.extract(e.n);
  if (node.empty() && !has_finished) return gateway_.fenced(e.n);
  const auto id = has_finished ? late->second : node.mapped();
  context_->exchanges->cancel(id, who_, [weak = weak_from_this(), n = e.n, has_finished](bool was_live) {
    const auto self = weak.lock();
    // A finished exchange is over when its end is durable.
    if (!self || (has_finished && !was_live)) return;
    self->gateway_.fenced(n);
    self->perform();
  });
}

void session::perform(const does::leave& e) {
  if (const auto at = operations_.find(e.n); at != operations_.end()) context_->exchanges->leave(at->second);
  operations_.erase(e.n);
}

void session::perform(const does::finish& e) {
  auto node = operations_.extract(e.n);
  if (node.empty()) return gateway_.ended(e.n);
  const auto id = node.mapped();
  finishing_.insert(std::move(node));
  context_->exchanges->finish(id, e.spoken, e.failure, [weak = weak_from_this(), n = e.n] {
    const auto self = weak.lock();
    if (!self) return;
    self->finishing_.erase(n);
    self->gateway_.ended(n);
    self->perform();
  });
}

void session::perform(const does::speak& e) {
  const auto at = operations_.find(e.n);
  const auto speech = e.speech;
  if (at == operations_.end()) {
    gateway_.speech_over(speech, "its exchange has ended");
    return gateway_.speech_played(speech);
  }
  boot_time begins;
  for (const auto& [earlier, one] : mouths_) begins = std::max(begins, one->audible_until());
  std::erase_if(mouths_, [this](const auto& one) { return !gateway_.is_audible(one.first); });
  const auto weak = weak_from_this();
  const auto made = std::make_shared<mouth>(context_, begins,
                                            mouth::hooks{[weak, speech](std::string_view samples) {
                                                           const auto self = weak.lock();
                                                           if (!self) return;
                                                           self->gateway_.chunk(speech, samples);
                                                           self->perform();
                                                         },
                                                         [weak, speech](const std::string& failure) {
                                                           const auto self = weak.lock();
                                                           if (!self) return;
                                                           self->gateway_.speech_over(speech, failure);
                                                           self->perform();
                                                         },
                                                         [weak, speech] {
                                                           const auto self = weak.lock();
                                                           if (!self) return;
                                                           self->gateway_.speech_played(speech);
                                                           self->perform();
                                                           if (!self->gateway_.is_audible(speech))
                                                             self->mouths_.erase(speech);
                                                         }});
  mouths_[speech] = made;
  made->speak(at->second, who_, e.text, e.speed);
}

void session::perform(const does::hush& e) {
  const auto node = mouths_.extract(e.speech);
  if (!node.empty()) node.mapped()->hush();
}

void session::perform(const does::delay& e) {
  if (const auto at = mouths_.find(e.speech); at != mouths_.end()) at->second->delayed(e.samples);
}

void session::perform(const does::retract& e) {
  if (!brain_) return gateway_.retracted(e.n);
  brain_->retract([weak = weak_from_this(), n = e.n] {
    const auto self = weak.lock();
    if (!self || self->is_over_) return;
    self->gateway_.retracted(n);
    self->perform();
  });
}

void session::perform(const does::linger& e) {
  after(linger_time, [n = e.n](session& self) { self.gateway_.lingered(n); });
}

void session::perform(const does::await_remainder&) {
  call_in(remainder_time, &session::remainder_, &voices::gateway_side::remainder_over);
}

void session::perform(const does::rest&) {
  after(rest_time, [](session& self) { self.gateway_.rested(); });
}

void session::perform(const does::await_answers&) {
  after(fence_timeout, [](session& self) { self.gateway_.waited(); });
}

void session::perform(const does::close&) { link_->close(); }

} // namespace quell::controller::voice
