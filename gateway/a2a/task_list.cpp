// ListTasks: the turns of one agent that the caller sees, newest first.
#include <algorithm>
#include <charconv>

#include "gateway/a2a/calls.hpp"
#include "gateway/a2a/context_id.hpp"
#include "gateway/a2a/send_body.hpp"
#include "gateway/a2a_error.hpp"

namespace quell::controller::http::a2a {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The most rows of the store that one request looks at and counts.
constexpr std::uint32_t most_rows = 1000;
constexpr std::uint64_t most_in_page = 100, usual_page = 50;

struct list_request {
  records::operation_filter filter;
  std::optional<scope_path> scope; ///< exactly
  std::optional<task_state> state;
  std::optional<wall_time> since; ///< of the newest change
  std::uint64_t limit = usual_page;
  std::uint64_t before = 0; ///< tasks on earlier pages
  artifacts answer = artifacts::left_out;
};

[[noreturn]] void refuse(const char* field, const char* why) {
  throw a2a_error{invalid_params, "the parameters are not valid", {{error_code::invalid_field, field, why}}};
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || text.empty()) return std::nullopt;
  return value;
}

/// `SEQ-COUNT`: continue behind this seq; so many tasks came before.
void read_token(const std::string& token, list_request& into) {
  const auto dash = token.find('-');
  const auto seq = number_in(std::string_view(token).substr(0, dash));
  const auto count = dash == std::string::npos ? std::nullopt : number_in(std::string_view(token).substr(dash + 1));
  if (!seq || !count) refuse("pageToken", "is not one that this agent gave");
  into.filter.after_seq = *seq;
  into.before = *count;
}

list_request read_list(const exchange& x, const json& params, const served_agent& agent) {
  list_request list;
  auto& filter = list.filter;
  filter.kinds = {kind::turn};
  filter.names = {agent.name};
  filter.within = x.who.prefix;
  filter.within_operation = x.who.task;
  filter.limit = most_rows;
  if (const auto context = value_at<std::string>(params, "contextId"); !context.empty()) {
    list.scope = scope_of_context(context, agent.base);
    if (!list.scope) refuse("contextId", "is not one of this agent's");
    filter.scopes = {*list.scope};
  }
  if (const auto state = value_at<std::string>(params, "status"); !state.empty() && state != "TASK_STATE_UNSPECIFIED") {
    list.state = parse_state(state);
    if (!list.state) refuse("status", "is not a state that a task of this agent can have");
  }
  if (const auto since = value_at<std::string>(params, "statusTimestampAfter"); !since.empty()) {
    list.since = http::parse_instant(since);
    if (!list.since) refuse("statusTimestampAfter", "must be an instant of RFC 3339");
  }
  if (params.contains("pageSize") && !params.at("pageSize").is_null()) {
    const auto& size = params.at("pageSize");
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() < 1 || size.get<std::uint64_t>() > most_in_page)
      refuse("pageSize", "must be from 1 to 100");
    list.limit = size.get<std::uint64_t>();
  }
  if (const auto token = value_at<std::string>(params, "pageToken"); !token.empty()) read_token(token, list);
  if (value_at<bool>(params, "includeArtifacts")) list.answer = artifacts::shown;
  return list;
}

/// True for the turn of a message that another turn took: it is a part of that task.
bool is_of_another_task(const records::operation_record& turn) {
  return turn.hot.result.find(R"("steered":")") != std::string::npos;
}

bool fits(const list_request& list, const task_facts& facts) {
  return (!list.state || status_of(facts).state == *list.state) && (!list.since || facts.at >= *list.since);
}

} // namespace

awaitable<ordered_json> list_tasks(exchange& x, const json& params) {
  if (x.too_often) throw *x.too_often;
  const auto agent = agent_of_path(x);
  const auto list = read_list(x, params, agent);
  const auto filter = list.filter;
  auto job = [filter](store_reader& q) { return q.operations(filter); };
  auto part = co_await x.list<records::operation_record>(job);
  const std::uint64_t last_of_part = part.rows.empty() ? 0 : part.rows.back().seq;
  const bool is_full = part.rows.size() >= filter.limit;
  std::erase_if(part.rows,
                [&](const auto& row) { return is_of_another_task(row) || (list.scope && row.scope != *list.scope); });
  const auto total = list.before + part.rows.size();
  auto tasks = ordered_json::array();
  std::uint64_t last_seq = 0;
  std::size_t looked_at = 0;
  for (auto& row : part.rows) {
    if (tasks.size() == list.limit) break;
    ++looked_at;
    last_seq = row.seq;
    auto shown = co_await present_one(x.gw, std::move(row));
    const auto facts = co_await facts_of(x.gw, std::move(shown), agent);
    if (fits(list, facts)) tasks.push_back(task_json(facts, list.answer));
  }
  const bool is_whole = looked_at == part.rows.size() && !part.cut_at && !is_full;
  if (looked_at == part.rows.size()) last_seq = part.cut_at.value_or(last_of_part);
  const auto next = is_whole || last_seq == 0
                        ? std::string()
                        : std::to_string(last_seq) + "-" + std::to_string(list.before + tasks.size());
  const auto in_page = tasks.size();
  co_return ordered_json{{"tasks", std::move(tasks)},
                         {"nextPageToken", next},
                         {"pageSize", in_page},
                         {"totalSize", std::max<std::uint64_t>(total, list.before + in_page)}};
}

} // namespace quell::controller::http::a2a
