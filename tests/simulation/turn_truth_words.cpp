// Cancel words, approvals, acknowledgements after a stop, and the conversation that a model gets.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "protocol/note.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;
using namespace quell::controller::turns;

namespace {

/// An upper bound for the time of any message between the controller and an agent, with everything queued before it.
constexpr instant reaction_time = 50 * ms;

bool is_addressed(const chat_message& m) { return m.order.addressed.value_or(m.names_bot); }

} // namespace

turn_truth::look turn_truth::look_at(const chat_message& m) const {
  look l;
  world_.truth.each_live_in(m.order.scope, [&](const records::operation_record& r) { l.live_in_scope.insert(r.id); });
  return l;
}

void turn_truth::answered(const chat_message& m, const look& sent, const outcome<message_answer>& answer) {
  if (world_.failed()) return;
  if (!answer) {
    world_.note(m.order.author.id, [&] { return "is refused: " + std::string(text_of(answer.error().error.code)); });
    return;
  }
  const auto& a = *answer;
  world_.note(m.order.author.id, [&] {
    return "is answered (" + m.order.text + "): " +
           (a.decision == message_answer::decided::cancel ? "cancel " + world_.label(*a.cancel)
            : a.turn                                      ? "turn " + world_.label(*a.turn)
                                                          : "ignored") +
           ", " + a.why + (a.is_duplicate ? ", as before" : "");
  });
  const auto wrong = [&](const std::string& text) {
    world_.violate("words that stop", "\"" + m.order.text + "\" of " + m.order.author.id + " in " +
                                          m.order.scope.text() + " (#" + std::to_string(m.number) + ") " + text);
  };
  const bool is_cancel = a.decision == message_answer::decided::cancel;
  if (a.decision == message_answer::decided::turn && !world_.truth.writes_failed() &&
      (!a.turn || !world_.truth.stands(*a.turn) || !turns_.contains(*a.turn)))
    return world_.violate("not lost", "message #" + std::to_string(m.number) + " is answered and not on disk");
  check_same(m, a);
  if (is_cancel && !m.is_stop) return wrong("stops, and says something else");
  if (is_cancel) return check_stop_reports(m, a);
  // A stop that counts for every author: work lives there, before and after.
  const bool counts_always = m.order.modality == modality::text || is_addressed(m);
  if (!m.is_stop || !m.order.is_final || !counts_always || a.is_duplicate || world_.truth.writes_failed()) return;
  for (const auto& id : sent.live_in_scope)
    if (!world_.truth.is_over(id)) return wrong("does not stop " + world_.label(id) + ", which lives there: " + a.why);
}

/// A stop comes from an author with standing, and stops the place where it was said.
void turn_truth::check_stop_reports(const chat_message& m, const message_answer& a) {
  const auto wrong = [&](const std::string& text) {
    world_.violate("words that stop", "\"" + m.order.text + "\" of " + m.order.author.id + " in " +
                                          m.order.scope.text() + " (#" + std::to_string(m.number) + ") " + text);
  };
  if (!m.order.is_final) return wrong("was not a final word");
  if (a.cancel && a.durable && !a.is_duplicate) {
    const auto* c = world_.truth.cancel_of(*a.cancel);
    if (!c) return world_.truth.writes_failed() ? void() : wrong("is answered with a cancel that is not on disk");
    const auto* target = std::get_if<records::target_scope>(&c->target);
    if (!target || target->scope != m.order.scope) return wrong("stops something else than its place");
  }
  if (m.order.modality == modality::text || is_addressed(m) || m.order.humans_present == 1U || a.is_duplicate) return;
  // Only an author whose own work runs there may have stopped it.
  if (!world_.truth.had_live_of(m.order.author.id, m.order.scope, *m.first_at))
    wrong("stops, and nothing of theirs ran there");
}

/// A repeated message is decided once.
void turn_truth::check_same(const chat_message& m, const message_answer& a) {
  if (m.order.client_id.empty() || a.decision == message_answer::decided::ignored || !a.durable) return;
  const auto [at, is_first] = answers_.emplace(m.number, a);
  if (is_first || world_.truth.writes_failed()) return;
  if (at->second.decision != a.decision || at->second.turn != a.turn || at->second.cancel != a.cancel)
    world_.violate("answered once", "message #" + std::to_string(m.number) + " came twice and was decided anew");
}

void turn_truth::decided(const chat_decision& d, bool is_taken) {
  world_.note(d.by, [&] {
    return std::string(d.approved ? "approves " : "denies ") + world_.label(d.call) + (is_taken ? "" : ": refused");
  });
  if (is_taken && !d.may) world_.violate("approval", d.by + " decides about " + world_.label(d.call) + " and may not");
}

void turn_truth::check_resolved(const records::event_record& e) {
  auto& call = calls_.at(*e.operation);
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  const auto what = data.is_object() ? data.value("decision", "") : "";
  if (what != "approved" && what != "denied") return;
  const auto by = data["by"].value("id", "");
  if (++call.decisions > 1) world_.violate("approval", "two decisions about " + world_.label(*e.operation) + " count");
  const auto& all = decisions_[*e.operation];
  if (std::none_of(all.begin(), all.end(),
                   [&](const chat_decision& d) { return d.may && d.by == by && d.approved == (what == "approved"); }))
    world_.violate("approval", world_.label(*e.operation) + " is " + what + " by " + by + ", who may not or did not");
  call.was_approved = call.was_approved || what == "approved";
}

void turn_truth::published(const records::event_record& e) {
  if (e.type == event_type::approval_required && e.operation) world_.chat.on_approval_required(*e.operation);
}

/// The decision about a message is told once.
void turn_truth::check_announcement(const records::event_record& e) {
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  const auto message = data.is_object() ? data.value("message", nlohmann::json()) : nlohmann::json();
  if (!message.is_string() || announced_.insert(message.get<std::string>()).second) return;
  world_.violate("announced", "the decision about message " + message.get<std::string>() + " is told twice");
}

/// "Stopped" is sent with proof only; a model's words claim the same.
void turn_truth::check_acknowledgement(const records::event_record& e) {
  const auto data = nlohmann::json::parse(e.data, nullptr, false);
  if (!data.is_object() || !e.cancel || world_.truth.writes_failed()) return;
  const auto state = data.value("state", "");
  const auto text = data["text"].is_string() ? data["text"].get<std::string>() : std::string();
  const bool is_models_word = state.empty() && text.find("I have stopped") != std::string::npos;
  world_.note("told", [&] { return world_.label(*e.cancel) + ": " + (state.empty() ? "\"" + text + "\"" : state); });
  if (state != "stopped" && !is_models_word) return;
  const auto* c = world_.truth.cancel_of(*e.cancel);
  const auto wrong = [&](const std::string& why) {
    world_.violate("stopped with proof", world_.label(*e.cancel) + " is told to have stopped " + why);
  };
  if (!c || c->status != cancel_status::settled) return wrong("and has not settled");
  const auto count = [&](receipt r) { return c->report.receipts[static_cast<std::size_t>(r)]; };
  if (count(receipt::unconfirmed) + count(receipt::declared) > 0) return wrong("and not all of it is known");
  if (const auto alive = world_.truth.living_below(*e.cancel))
    wrong("while " + world_.label(*alive) + " has processes");
}

void turn_truth::requested_model(const model_request& request) {
  check_whole(request.messages);
  if (!world_.failed()) check_requests(request.messages);
}

std::optional<operation_id> turn_truth::turn_of(const std::string& text) const {
  const auto at = turn_of_text_.find(text);
  return at == turn_of_text_.end() ? std::nullopt : std::optional(at->second);
}

/// Each answer with calls is followed by the results of exactly these calls.
void turn_truth::check_whole(const conversation& messages) const {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto wrong = [&](const std::string& text) {
      world_.violate("one result per call", "a model is asked with " + text);
    };
    const auto* before = i > 0 ? std::get_if<assistant_message>(&messages[i - 1]) : nullptr;
    if (const auto* results = std::get_if<tool_results>(&messages[i])) {
      if (!before || before->calls.size() != results->results.size()) return wrong("results that nobody called for");
      for (std::size_t k = 0; k < before->calls.size(); ++k)
        if (before->calls[k].call != results->results[k].call)
          return wrong("results in another order than their calls");
    } else if (before && !before->calls.empty()) {
      return wrong("a call that has no result");
    }
  }
  if (const auto* last = messages.empty() ? nullptr : std::get_if<assistant_message>(&messages.back());
      last && !last->calls.empty())
    world_.violate("one result per call", "a model is asked with a call that has no result");
}

/// The request to be answered is not stopped, and stopped ones are marked as stopped.
void turn_truth::check_requests(const conversation& messages) const {
  std::optional<std::size_t> own;
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (const auto* u = std::get_if<user_message>(&messages[i]); u && !is_note(u->text)) own = i;
  if (!own) return world_.violate("no stopped request", "a model is asked nothing");
  for (std::size_t i = 0; i <= *own; ++i) {
    const auto* u = std::get_if<user_message>(&messages[i]);
    const auto known = u ? turn_of_text_.find(without_context(u->text)) : turn_of_text_.end();
    if (known == turn_of_text_.end()) continue;
    const auto& turn = known->second;
    const auto* row = world_.truth.record_of(turn);
    if (!row) return world_.violate("order", "a model is asked about a message whose turn is not on disk");
    if (i == *own) {
      const auto since = world_.truth.closed_since(turn);
      if (is_terminal(row->hot.now) || (since && world_.events.now() - *since > reaction_time))
        world_.violate("no stopped request", "a model is asked for " + world_.label(turn) + ", which was stopped");
      continue;
    }
    const auto self_status = row->hot.self_status.value_or(row->hot.now);
    if (self_status != status::cancelled || !row->hot.stop) continue;
    const auto cause = row->hot.stop->cause;
    if (cause == stop_cause::timeout || cause == stop_cause::worker_lost) continue;
    bool is_marked = false;
    for (std::size_t k = i + 1; k < messages.size() && !is_marked; ++k) {
      const auto* note = std::get_if<user_message>(&messages[k]);
      if (note && !is_note(note->text)) break;
      is_marked = note && note->text.find("cancelled by the user") != std::string::npos;
    }
    if (!is_marked)
      world_.violate("no stopped request",
                     "a model is given the message of " + world_.label(turn) + " as an open request; it was cancelled");
  }
}

} // namespace quell::simulation
