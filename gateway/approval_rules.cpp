// /v1/approvals/rules: what approvers have allowed for good. Made by POST …/approve with `always`.
#include <chrono>
#include <functional>

#include "actors/turns/turn_scheduler.hpp"
#include "controller/json/json_writer.hpp"
#include "gateway/approving.hpp"
#include "gateway/audited.hpp"
#include "gateway/json_or_text.hpp"
#include "gateway/presenter.hpp"
#include "gateway/query_reader.hpp"
#include "gateway/rights.hpp"
#include "gateway/small_list.hpp"

namespace quell::controller::http {

using turns::standing_rule;
using turns::standing_rules;

namespace {

wall_time now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

problem no_such_rule(const std::string& id) {
  return {.code = error_code::not_found,
          .detail = "there is no standing approval " + id +
                    " (any more), or not for this token to see; `quell "
                    "approvals` lists them"};
}

/// Runs on a thread that can wait.
template <class T>
awaitable<T> with_rules(exchange& x, std::function<T(standing_rules&)> what) {
  auto& gw = x.gw;
  if (!gw.options.turns) throw problem{.code = error_code::not_found, .detail = "this quelld answers no messages"};
  std::function<void(std::function<void(result<T>)>)> call = [&gw, what](auto reply) {
    gw.options.turns->with_rules([what, reply](standing_rules* rules) {
      if (rules) return reply(what(*rules));
      reply(failure(error_code::not_found, "this quelld keeps no standing approvals"));
    });
  };
  auto answer = co_await gw.template answer<result<T>>(call);
  if (!answer) throw from_fault(answer.error());
  co_return std::move(*answer);
}

awaitable<std::vector<standing_rule>> rules_of(exchange& x) {
  std::function<std::vector<standing_rule>(standing_rules&)> read = [](standing_rules& rules) {
    return rules.all(now());
  };
  auto all = co_await with_rules(x, read);
  std::erase_if(all, [&](const standing_rule& r) { return x.who.prefix && !r.scope.is_at_or_below(*x.who.prefix); });
  co_return all;
}

void write(json_writer& to, const standing_rule& r) {
  to.open_object();
  to.field("id", r.id).field("scope", r.scope).field("agent", r.agent).field("tool", r.tool);
  to.key("input");
  put_json_or_text(to, r.input);
  to.field("rule", r.rule);
  to.key("by");
  to.put(r.by);
  to.field("created_at", r.created_at).field("expires_at", r.expires_at);
  to.close_object();
}

/// The agent that makes a call is its parent: a turn, or a sub-agent.
awaitable<standing_rule> rule_of(exchange& x, records::operation_record call) {
  std::string agent;
  if (call.parent) {
    const auto above = co_await find_row(x.gw, *call.parent);
    if (above) agent = above->name;
  }
  if (!call.call_change.empty())
    throw from_errors({{error_code::invalid_field, "/always",
                        "is for the call as its agent makes it; a person approved this one with another input"}});
  auto rule = turns::standing_rule_for(call, agent);
  if (!rule)
    throw from_errors(
        {{error_code::invalid_field, "/always", "is for a call about which a rule of [[approval]] asks"}});
  co_return std::move(*rule);
}

} // namespace

awaitable<> need_rule_of(exchange& x, records::operation_record call) { co_await rule_of(x, std::move(call)); }

awaitable<> allow_always(exchange& x, records::operation_record call, milliseconds how_long, records::person by) {
  auto rule = co_await rule_of(x, std::move(call));
  rule.by = by;
  rule.expires_at = now() + how_long;
  std::function<result<standing_rule>(standing_rules&)> add = [rule](standing_rules& rules) {
    return rules.add(rule, now());
  };
  const auto added = co_await with_rules(x, add);
  if (!added) throw from_fault(added.error());
  auto as = x.who;
  as.owner = by;
  auto entry = audited(
      x, "approval_rule_add",
      "standing approval " + added->id + ": " + added->tool + " of " + added->agent + " in " + added->scope.text(), as);
  co_await std::move(entry);
}

awaitable<response> list_approval_rules(exchange& x) {
  need_to_decide(x);
  const auto list = read_small_list(x.req, "approval_rules", list_order::ascending);
  auto all = co_await rules_of(x);
  const auto next = cut_page(all, list, [](const standing_rule& r) { return r.id; });
  json_writer to;
  to.open_object().key("rules").open_array();
  for (const auto& rule : all) write(to, rule);
  to.close_array();
  to.field("next_cursor", next);
  to.close_object();
  co_return json_answer(to.take());
}

awaitable<response> delete_approval_rule(exchange& x) {
  need_to_decide(x);
  const auto id = path_id<operation_id>(x).text();
  query_reader(x.req).finish();
  const auto all = co_await rules_of(x);
  const auto known = std::find_if(all.begin(), all.end(), [&](const standing_rule& r) { return r.id == id; });
  if (known == all.end()) throw no_such_rule(id);
  std::function<result<bool>(standing_rules&)> revoke = [id](standing_rules& rules) { return rules.revoke(id, now()); };
  const auto gone = co_await with_rules(x, revoke);
  if (!gone) throw from_fault(gone.error());
  if (!*gone) throw no_such_rule(id);
  auto entry = audited(x, "approval_rule_revoke",
                       "standing approval " + id + ": " + known->tool + " in " + known->scope.text(), x.who);
  co_await std::move(entry);
  co_return empty_answer();
}

} // namespace quell::controller::http
