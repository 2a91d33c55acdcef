// The decision about each final transcript: a stop, the answer to what an agent asks its speaker, or words for the
// brain.
#include <algorithm>

#include "actors/voice/session.hpp"

namespace quell::controller::voice {

namespace voices = integrations::voice;
namespace does = voices::gateway_effects;

using decided = turns::message_answer::decided;

/// A client knows only its own room: its claim can raise the number of people above those who talk here at the moment,
/// and never lower it.
turns::message_order session::words_for_decision(const does::decide_speech& e, const operation_id& exchange) const {
  auto order = spoken_order(who_, exchange, e.text);
  order.confidence = e.confidence;
  if (order.humans_present.value_or(0) > 0)
    order.humans_present = std::max(*order.humans_present, context_->present.people_in(who_.scope));
  order.apart.assign(context_->recognisers.begin(), context_->recognisers.end());
  context_->exchanges->tell_standing(order);
  order.wants = turns::message_order::scope_of_decision::only_stop;
  return order;
}

void session::perform(const does::decide_speech& e) {
  const auto at = operations_.find(e.n);
  if (at == operations_.end()) return;
  context_->exchanges->transcribed(at->second, e.text);
  auto order = words_for_decision(e, at->second);
  context_->turn_scheduler.take(
      std::move(order), later([e](session& self, const outcome<turns::message_answer>& a) { self.on_decision(e, a); }));
}

void session::on_decision(const does::decide_speech& e, const outcome<turns::message_answer>& a) {
  const auto known = operations_.find(e.n);
  if (known == operations_.end()) return; // cancelled meanwhile
  if (!a) return gateway_.failed(e.n, a.error().error.detail);
  if (a->decision == decided::cancel) {
    context_->exchanges->forget(known->second);
    operations_.erase(known);
    if (a->cancel) stops_.try_emplace(*a->cancel, "none");
    if (stops_.size() > most_stops) stops_.erase(stops_.begin()); // the oldest
    return gateway_.on_verdict(e.n, voices::verdict::stops);
  }
  if (a->cancel_word) context_->exchanges->refused_stop(known->second);
  if (a->decision == decided::ignored) return gateway_.on_verdict(e.n, voices::verdict::ignored);
  if (a->cancel_word || !has_question()) return gateway_.on_verdict(e.n, voices::verdict::passes);
  answer_agent(e, known->second);
}

bool session::has_question() const {
  const auto open = context_->work->questions.open_in(who_.scope);
  return std::any_of(open.begin(), open.end(), [this](const auto& one) { return one.second.owner == who_.author.id; });
}

/// The ledger decides whether the words are the answer: a stop, or another answer, can have come first.
void session::answer_agent(const does::decide_speech& e, const operation_id& exchange) {
  auto order = spoken_order(who_, exchange, e.text);
  order.confidence = e.confidence;
  order.during = turns::during_turn::answer;
  if (!context_->settings.agent.empty()) order.agent = context_->settings.agent;
  context_->turn_scheduler.take(
      std::move(order), later([n = e.n](session& self, const outcome<turns::message_answer>& a) {
        if (!self.operations_.contains(n)) return; // cancelled meanwhile
        const bool is_answer = a && a->during == turns::during_turn::answer;
        self.gateway_.on_verdict(n, is_answer ? voices::verdict::answers : voices::verdict::passes);
      }));
}

} // namespace quell::controller::voice
