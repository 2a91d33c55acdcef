// Calls and questions that wait for a person: asked in the editor, decided there or elsewhere.
//
// A decision is repeated until the controller answers it. It may have taken the one whose answer was lost: the same
// word again changes nothing there.
#include "cli/acp/prompt.hpp"
#include "cli/fields.hpp"
#include "protocol/id.hpp"

namespace quell::cli::acp {
namespace {

constexpr milliseconds decision_timeout{30'000};
constexpr milliseconds decision_pause{300};
constexpr milliseconds cancel_follows{1'000}; ///< what an editor answers right before its cancel
constexpr milliseconds always_for{8 * 3'600'000};

/// True: nothing was decided yet, and the same request can be answered later.
bool will_pass(const problem& p) { return may_pass(p) && !has_code(p, error_code::too_many_operations); }

} // namespace

void prompt::show(const json& event) {
  if (is_over_) return;
  for (auto& update : updates_->take(event)) tell_.update(std::move(update));
  const auto type = type_of(event);
  if (type == event_type::approval_resolved) {
    const auto& data = member(event, "data");
    return tell_.take_back(question_key(text_of(data, "operation"), text_of(data, "question")));
  }
  if (type != event_type::approval_required || is_cancelled_) return;
  auto q = updates_->question(event, editor_);
  if (questions_.insert(q.key()).second) ask(std::move(q));
}

void prompt::ask(human_question q) {
  auto params = q.params;
  const auto key = q.key();
  const auto how = q.how;
  tell_.ask(key, how, std::move(params), [this, alive = std::weak_ptr(alive_), q = std::move(q)](const json& result) {
    if (!alive.expired() && takes_decisions()) decide(q, result);
  });
}

void prompt::decide(const human_question& q, const json& result) {
  const auto decided = decision_in(q, result);
  if (!decided.is_none) return send_decision(q, decided);
  later(cancel_follows, [this, q] {
    tell_about(q, "nobody has decided in the editor; quell approve " + q.operation + " and quell deny do");
  });
}

/// Somebody else can have decided meanwhile: then it is refused, and nothing changes.
void prompt::send_decision(const human_question& q, const human_decision& decided) {
  json body = {{"reason", decided.accepts ? "allowed in the editor" : "rejected in the editor"}};
  if (!q.question.empty()) {
    body["question"] = q.question;
    if (decided.accepts) body["values"] = decided.values;
    if (decided.is_dismissed) body["dismiss"] = true;
  }
  if (decided.is_always) body["always"] = {{"for_ms", always_for.count()}};
  const auto path = "/v1/operations/" + q.operation + (decided.accepts ? "/approve" : "/deny");
  keep(api_.call("POST", path, body, decision_timeout, [this, q, decided](answer<json> a) {
    if (a || !takes_decisions()) return;
    if (will_pass(a.error())) return later(decision_pause, [this, q, decided] { send_decision(q, decided); });
    refused(q, decided, a.error());
  }));
}

void prompt::refused(const human_question& q, const human_decision& decided, const problem& p) {
  if (has_code(p, error_code::not_paused)) return;
  if (decided.is_always && has_code(p, error_code::too_many_operations))
    return tell_about(q, "allowed this once: " + p.detail);
  if (has_code(p, error_code::invalid_values) && q.how == editor_request::form) { // the question stays open
    auto again = q;
    again.params["message"] = text_of(q.params, "message") + "\n" + p.detail;
    return ask(std::move(again));
  }
  if (decided.is_always && p.status == 422) return ask(once_only(q)); // nothing was decided
  // A person who was asked may answer, also without the right to decide about calls.
  const auto words = text_of(decided.values, "answer");
  if (p.status == 403 && q.is_agents && !words.empty())
    return answer_by_message(q, {{"id", "cli:" + operation_id::fresh().text()},
                                 {"scope", q.scope},
                                 {"text", words},
                                 {"author", author_},
                                 {"during_turn", "answer"}});
  tell_about(q, "the decision was not taken: " + p.detail);
}

/// With its id, the same message is taken once.
void prompt::answer_by_message(const human_question& q, const json& message) {
  keep(api_.call("POST", "/v1/messages", message, decision_timeout, [this, q, message](answer<json> a) {
    if (a || !takes_decisions() || has_code(a.error(), error_code::not_paused)) return;
    if (will_pass(a.error())) return later(decision_pause, [this, q, message] { answer_by_message(q, message); });
    tell_about(q, "the answer was not taken: " + a.error().detail);
  }));
}

/// At its call in the editor: the request is no longer there.
void prompt::tell_about(const human_question& q, const std::string& words) {
  tell_.update(call_note(q.operation, words));
  tell_.warn(words);
}

void prompt::later(milliseconds pause, std::function<void()> then) {
  api_.loop().after(pause, [this, alive = std::weak_ptr(alive_), then = std::move(then)] {
    if (!alive.expired() && takes_decisions()) then();
  });
}

} // namespace quell::cli::acp
