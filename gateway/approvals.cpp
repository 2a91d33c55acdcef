// POST …/approve and …/deny: a human's decision on a call that waits for it.
#include <nlohmann/json.hpp>

#include "actors/turns/turn_scheduler.hpp"
#include "gateway/approving.hpp"
#include "gateway/audited.hpp"
#include "gateway/message_body.hpp"
#include "gateway/presenter.hpp"
#include "gateway/rights.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller::http {

namespace {

/// Whether the call was approved with this input; "" = with its own.
bool has_input(const records::operation_record& row, const std::string& input) {
  return turns::sorted_input(turns::changed_input(row.call_change).value_or("")) == turns::sorted_input(input);
}

/// The call's own input, as JSON text with sorted keys.
std::string own_input(const records::operation_record& row) {
  const auto block = nlohmann::json::parse(row.kind_data, nullptr, false);
  const auto own = block.is_object() ? block.value("input", nlohmann::json()) : nlohmann::json();
  return own.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// For the audit: the hashes of the input before and after an approver changed it. Equal inputs have equal hashes.
std::string input_change(const records::operation_record& row, const std::string& input) {
  if (input.empty()) return {};
  return ", input changed from sha256 " + sha256_hex(own_input(row)) + " to sha256 " +
         sha256_hex(turns::sorted_input(input));
}

/// True if the same decision was made before, according to the row.
bool was_decided_so(const records::operation_record& row, approval_outcome how) {
  const bool was_denied = row.hot.error && row.hot.error->message.starts_with("denied by ");
  const bool was_requested = row.kind_data.find(R"("approval":")") != std::string::npos;
  const bool goes_on =
      row.hot.now == status::running || row.hot.now == status::completed || row.hot.now == status::failed;
  return was_requested && goes_on && was_denied == (how == approval_outcome::denied);
}

/// The same according to its event, which distinguishes a call that was approved and then cancelled from one that was
/// cancelled first. nullopt if the event is no longer kept.
awaitable<std::optional<bool>> is_from_decision(exchange& x, operation_id call, approval_outcome how,
                                                const std::optional<operation_id>& about) {
  records::event_filter resolved_filter;
  resolved_filter.below = call;
  resolved_filter.types = {event_type::approval_resolved};
  const std::string word = how == approval_outcome::approved ? R"("decision":"approved")" : R"("decision":"denied")";
  const std::string question = about ? R"("question":")" + about->text() + '"' : R"("question":")";
  // One call can have waited to begin and then asked several questions.
  const auto is_about_it = [&](const std::string& data) {
    return (data.find(question) != std::string::npos) == about.has_value();
  };
  while (true) {
    auto job = [resolved_filter](store_reader& q) { return q.events(resolved_filter); };
    const auto part = co_await x.list<records::event_record>(job);
    for (const auto& e : part.rows)
      if (e.operation == call && is_about_it(e.data)) co_return e.data.find(word) != std::string::npos;
    if (!part.cut_at) co_return std::nullopt;
    resolved_filter.after = *part.cut_at;
  }
}

/// The human for whom the token claims to act.
caller decider(caller by_token, const records::person& who) {
  by_token.owner = who;
  return by_token;
}

awaitable<response> decide(exchange& x, approval_outcome how) {
  const bool is_approval = how == approval_outcome::approved;
  auto& gw = x.gw;
  const auto id = path_id<operation_id>(x);
  need_to_decide(x);
  auto word = value_or_throw(read_decision(x.req.body, how));
  auto& d = word.word;
  if (d.by.id.empty()) d.by = x.who.owner;
  std::optional<operation_id> question;
  if (word.answer) {
    question = word.answer->question;
    word.answer->by = d.by;
  }
  auto row = co_await visible_row(x, id);
  if (!gw.options.turns || row.kind != kind::tool_call)
    throw problem{.code = error_code::not_paused,
                  .detail = "operation " + id.text() + " is a " + std::string(name_of(row.kind)) +
                            "; only tool calls wait for a human (`quell ps --status paused`)"};
  if (is_approval) x.bring(row.scope, d.by.id);
  if (!d.input.empty() && turns::sorted_input(d.input) == own_input(row)) d.input.clear(); // nothing was changed
  if (word.always) {
    auto may_stand = need_rule_of(x, row);
    co_await std::move(may_stand);
  }
  auto call = [&gw, id, word](auto reply) {
    if (word.answer)
      gw.options.turns->answer(id, *word.answer, std::move(reply));
    else
      gw.options.turns->decide(id, word.word, std::move(reply));
  };
  const auto done = co_await gw.answer<outcome<operation_id>>(call);
  // "not_paused" can be a repeat; the others say that nothing was decided.
  if (!done && (done.error().error.code == error_code::not_ready || done.error().error.code == error_code::forbidden ||
                !done.error().error.pointer.empty()))
    throw from_refusal(done.error());
  row = co_await visible_row(x, id);
  auto shown = co_await present_one(gw, std::move(row));
  std::optional<bool> repeated;
  if (!done) repeated = co_await is_from_decision(x, id, how, question);
  const bool was_decided = !question && shown.row.hot.now != status::paused && was_decided_so(shown.row, how);
  if (!done && !repeated.value_or(was_decided))
    throw problem{.code = error_code::not_paused,
                  .detail = shown.row.hot.now == status::paused
                                ? done.error().error.detail
                                : "operation " + id.text() + " is " + std::string(name_of(shown.row.hot.now)) +
                                      ": it does not wait for a human (any more)"};
  if (is_approval && !question && !has_input(shown.row, d.input))
    throw problem{.code = error_code::not_paused,
                  .detail = "operation " + id.text() +
                            " was approved before with another input, and runs with that: `tool.changed`, or its own"};
  if (done) {
    const std::string what = "operation " + id.text() + (question ? ", question " + question->text() : "") +
                             input_change(shown.row, d.input);
    auto entry = audited(x, is_approval ? "approve" : "deny", what, decider(x.who, d.by));
    co_await std::move(entry);
  }
  if (word.always) { // behind the decision, and again with its repeat: a retry completes what a crash cut off
    auto stands = allow_always(x, shown.row, *word.always, d.by);
    co_await std::move(stands);
  }
  co_return json_answer(operation_text(gw, shown));
}

} // namespace

void need_to_decide(const exchange& x) {
  need(x, right::converse);
  const auto role_of = x.who.role;
  if (role_of == role::operator_ || role_of == role::admin) return;
  if (x.gw.options.turns && x.token && x.gw.options.turns->may_decide(x.token->text())) return;
  throw problem{.code = error_code::forbidden,
                .detail = "the role " + std::string(name_of(role_of)) + " of token '" + x.who.token_name +
                          "' may not approve or deny; use a token of role operator, or let an admin add \"token:" +
                          (x.token ? x.token->text() : std::string("<id>")) + "\" to [chat] approvers"};
}

awaitable<response> approve(exchange& x) { co_return co_await decide(x, approval_outcome::approved); }
awaitable<response> deny(exchange& x) { co_return co_await decide(x, approval_outcome::denied); }

} // namespace quell::controller::http
