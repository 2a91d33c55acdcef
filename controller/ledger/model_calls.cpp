// Model calls and their budgets: a call is let in and its cost is added in transactions of the ledger. A stop for a
// budget goes the way of every other stop, so the turn ends only with proof for what ran below it.
#include "controller/costs/expected_use.hpp"
#include "controller/json/json_writer.hpp"
#include "controller/ledger/live_ledger.hpp"
#include "controller/refused_with.hpp"

namespace quell::controller::live {

namespace {

/// `json`, an object, with one more member. "" = an object without members.
std::string with_member(const std::string& json, std::string_view name, const std::string& value) {
  const auto end = json.find_last_of('}');
  if (end == std::string::npos) return "{\"" + std::string(name) + "\":" + value + "}";
  const bool is_empty = json.find_last_not_of(" \t\r\n", end - 1) == json.find('{');
  return json.substr(0, end) + (is_empty ? "\"" : ",\"") + std::string(name) + "\":" + value + "}";
}

/// The members of an object that is open.
void write_usage(http::json_writer& to, const model_usage& used) {
  to.field("input_tokens", used.input_tokens).field("output_tokens", used.output_tokens);
  to.field("cached_input_tokens", used.cached_input_tokens);
  if (used.cache_written_tokens > 0) to.field("cache_written_tokens", used.cache_written_tokens);
  if (used.cost_nanos > 0) to.key("cost").raw(costs::amount_text(used.cost_nanos));
  if (used.estimated) to.field("estimated", true);
}

std::string usage_text(const costs::tree_costs::account& of) {
  http::json_writer to;
  to.open_object().field("model_calls", of.calls);
  write_usage(to, of.used);
  return to.close_object().take();
}

/// The result of a call that has no answer.
std::string cut_result(const model_usage& used) {
  http::json_writer to;
  to.open_object().key("usage").open_object();
  write_usage(to, used);
  return to.close_object().close_object().take();
}

/// The event of such a call, as its agent would have said it.
std::string cut_event(const records::operation_record& call, const model_usage& used) {
  http::json_writer to;
  to.open_object().field("operation", call.id).field("model", call.name).key("usage").open_object();
  write_usage(to, used);
  return to.close_object().close_object().take();
}

} // namespace

std::optional<refusal> live_ledger::refuse_budget(const create_order& order, const scope_path& scope,
                                                  moment now) const {
  const bool is_summary = order.kind == quell::kind::model_call && !order.parent; // that a person asked for
  if (order.kind != quell::kind::turn && !is_summary) return std::nullopt;
  const auto& author = order.owner ? order.owner->id : order.by.owner.id;
  auto why = day_totals_.why_exhausted(scope, author, now.wall);
  if (!why) return std::nullopt;
  const auto left = costs::begin_of(costs::day_of(now.wall) + 1) - now.wall;
  return refusal{coded_fault{error_code::budget, std::move(*why), {}}, {}, {}, std::chrono::ceil<milliseconds>(left)};
}

/// True: this is the stop that counts.
bool live_ledger::stop_turn(const operation_id& turn, const std::string& why, moment now) {
  const index x = find(turn);
  if (x == none || operations_[x].is_over() || stop_of(x)) return false;
  const stop_words words{why, {}};
  stop_operations({x}, stop_cause::budget, now, &words);
  return true;
}

outcome<created> live_ledger::open_model_call(const create_order& order, const operation_id& id,
                                              const operation_id& turn, const costs::tree_limits& limits, moment now) {
  const index top = find(turn);
  if (top != none) {
    auto why = tree_costs_.why_exhausted(turn, limits);
    if (!why)
      why = day_totals_.why_exhausted(scopes_[operations_[top].scope].path,
                                      operations_.owner_name(operations_[top].owner), now.wall);
    if (why && stop_turn(turn, *why, now)) return refused_with(error_code::stale_start, *why);
  }
  auto made = create(order, id, now);
  if (made && !made->existed && top != none) tree_costs_.begin_call(turn, limits);
  return made;
}

/// Adds it to the day.
void live_ledger::charge(const used_by_call& used, moment now) {
  if (used.usage == model_usage{}) return;
  const auto today = costs::day_of(now.wall);
  const auto keep = settings_.costs.keep_days;
  records::cost_record row;
  row.day = today;
  row.scope = used.scope;
  row.author = used.author;
  row.agent = used.agent;
  row.model = used.model;
  row.calls = 1;
  row.estimated = used.usage.estimated ? 1 : 0;
  row.usage = used.usage;
  day_totals_.add(today, used.scope, used.author, used.usage);
  effects_.journal.emplace_back(records::add_cost{std::move(row), keep > 0 ? today - keep : records::no_day});
}

tree_cost live_ledger::write_tree(const operation_id& turn, const costs::tree_costs::account& of,
                                  const std::optional<records::event_record>& reported, moment now) {
  effects_.journal.emplace_back(records::put_turn_cost{{turn, of.kept_calls(), of.used}});
  if (reported) {
    auto event = *reported;
    event.data = with_member(event.data, "tree", usage_text(of));
    add_event(std::move(event), now);
  }
  return {of.calls, of.used};
}

tree_cost live_ledger::add_cost(const early_use& what, moment now) {
  charge(what.used, now);
  if (what.turn && find(*what.turn) != none)
    return write_tree(*what.turn, tree_costs_.add(*what.turn, what.used.usage), what.reported, now);
  if (what.reported) add_event(*what.reported, now);
  return {};
}

closed_model_call live_ledger::close_model_call(const model_call_end& end, moment now) {
  closed_model_call answer;
  charge(end.used, now);
  // The account ends with the turn: a call that its turn did not wait for counts for the day alone.
  if (find(end.turn) != none)
    answer.tree = write_tree(end.turn, tree_costs_.end_call(end.turn, end.used.usage), end.reported, now);
  answer.has_this_end = finish_local(end.call, end.end, now);
  if (end.is_last || find(end.turn) == none) return answer;
  auto why = tree_costs_.why_used_up(end.turn);
  if (!why) why = day_totals_.why_exhausted(end.used.scope, end.used.author, now.wall);
  if (why) stop_turn(end.turn, *why, now);
  return answer;
}

/// The turn becomes terminal, so everything below it has: its row gets the cost of all of it.
void live_ledger::close_tree(index x, records::operation_hot& hot) {
  const auto of = tree_costs_.close(operations_[x].id);
  if (!of) return;
  hot.result = with_member(hot.result, "tree", usage_text(*of));
  effects_.journal.emplace_back(records::drop_turn_cost{operations_[x].id});
}

void live_ledger::recover_costs(const records::recovered_state& recovered,
                                const std::vector<records::operation_record>& cut_calls, moment now) {
  const auto today = costs::day_of(now.wall);
  for (const auto& row : recovered.costs)
    if (row.day >= today - 1 && row.day <= today + 1) day_totals_.add(row.day, row.scope, row.author, row.usage);
  for (const auto& row : recovered.turn_costs) {
    if (find(row.turn) != none)
      tree_costs_.restore(row);
    else
      effects_.journal.emplace_back(records::drop_turn_cost{row.turn});
  }
  for (const auto& row : cut_calls) charge_cut_call(row, now);
}

/// Its process is gone, and nobody will say what it used: what was expected counts. Its end is in the same transaction
/// (`interrupt_actors`), so it is charged once, however often quelld dies here.
void live_ledger::charge_cut_call(const records::operation_record& call, moment now) {
  const index x = find(call.id);
  const auto expected = costs::read_expected(call.kind_data);
  if (x == none || !expected) return;
  details(x).result = cut_result(expected->usage);
  early_use what{{call.scope, call.owner.id, expected->agent, call.name, expected->usage}};
  const index agent = operation_parent(x);
  index turn = agent;
  while (turn != none && operations_[turn].kind != quell::kind::turn) turn = operation_parent(turn);
  if (turn != none) what.turn = operations_[turn].id; // else it is a summary that a person asked for
  what.reported = event_about(event_type::model_usage, cut_event(call, expected->usage), agent == none ? x : agent);
  add_cost(what, now);
}

tree_cost live_ledger::used_by(const operation_id& turn) const {
  const auto* of = tree_costs_.find(turn);
  return of == nullptr ? tree_cost{} : tree_cost{of->calls, of->used};
}

} // namespace quell::controller::live
