// A call goes on if what it started has a row of its own: a task that its worker runs, or a sub-agent. Without such a
// row nothing of it began, since a row is durable before its work starts. Of all other work nobody knows the fate.
#include "actors/turns/left_work.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/changed_input.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/operation_pages.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/begin_turn.hpp"
#include "controller/done_elsewhere.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

using nlohmann::json;

constexpr std::uint32_t events_per_page = 1'000, first_rows = 16;

/// The first rows below a call, without detached ones: its own work is the first of all, and can have started any
/// number of others.
result<std::vector<records::operation_record>> first_below(store_reader& store, const operation_id& call) {
  records::operation_filter f;
  f.parents = {call};
  f.kinds = {kind::task, kind::sub_agent};
  f.ascending = true;
  f.limit = first_rows;
  while (true) {
    auto rows = store.operations(f);
    if (!rows || rows->empty()) return rows;
    const bool is_last = rows->size() < f.limit;
    f.after_seq = rows->back().seq;
    std::erase_if(*rows, [](const auto& row) { return row.detached; });
    if (is_last || !rows->empty()) return rows;
  }
}

std::optional<fault> read_remote_task(store_reader& store, left_call& call) {
  if (!call.name.starts_with(remote_agent_tool_prefix)) return std::nullopt;
  auto found = named_task_of(store, call.operation);
  if (!found) return found.error();
  call.remote_task = std::move(found->name);
  call.remote_task_since = found->since;
  return std::nullopt;
}

std::optional<fault> read_calls(store_reader& store, const model_history& reported, left_work& left) {
  const auto* answer = reported.messages.empty() ? nullptr : std::get_if<assistant_message>(&reported.messages.back());
  if (!answer || reported.calls.empty()) return std::nullopt;
  for (std::size_t i = 0; i < reported.calls.size() && i < answer->calls.size(); ++i) {
    const auto& what = answer->calls[i];
    const bool has_result = std::any_of(reported.known.begin(), reported.known.end(),
                                        [&](const tool_result& r) { return r.call == what.call; });
    if (has_result) continue;
    const auto row = store.operation(reported.calls[i]);
    if (!row) return row.error();
    if (!*row) continue;
    auto below = first_below(store, reported.calls[i]);
    if (!below) return below.error();
    auto& call = left.calls.emplace_back(left_call{reported.calls[i], what.call, what.name, (*row)->hot.now,
                                                   std::move(*below), changed_input((*row)->call_change)});
    if (const auto open = agents_question((*row)->hot)) call.asks = open->id.text();
    if ((*row)->hot.now != status::running) continue;
    if (auto why = read_remote_task(store, call)) return why;
  }
  return std::nullopt;
}

std::optional<fault> read_shown(store_reader& store, const operation_id& agent, left_work& left) {
  records::event_filter f;
  f.below = agent;
  f.types = {event_type::tool_start, event_type::tool_result, event_type::text_delta, event_type::thinking_delta,
             event_type::turn_resumed};
  f.limit = events_per_page;
  while (true) {
    const auto page = store.events(f);
    if (!page) return page.error();
    for (const auto& e : *page) {
      if (e.operation != agent) continue; // of a sub-agent
      const auto data = json::parse(e.data, nullptr, false);
      if (!data.is_object()) continue;
      const auto offset = data.value("offset", std::uint64_t{0});
      const auto end = offset + code_points(data.value("text", std::string{}));
      if (e.type == event_type::turn_resumed)
        left.text_points = std::min(left.text_points, offset);
      else if (e.type == event_type::text_delta)
        left.text_points = end;
      else if (e.type == event_type::thinking_delta)
        left.thought_points = std::max(left.thought_points, end);
      else
        (e.type == event_type::tool_start ? left.shown_starts : left.shown_ends)
            .insert(data.value("call", std::string{}));
    }
    if (page->size() < f.limit) return std::nullopt;
    f.after = page->back().id;
  }
}

std::optional<fault> read_sub_agents(store_reader& store, const operation_id& agent, left_work& left) {
  records::operation_filter f;
  f.below = agent;
  f.kinds = {kind::sub_agent};
  f.want_live = false;
  return for_each_operation(store, std::move(f), [&](records::operation_record& row) {
    if (!row.parent || row.id == agent) return;
    const bool is_open = std::any_of(left.calls.begin(), left.calls.end(),
                                     [&](const left_call& call) { return call.operation == *row.parent; });
    if (is_open) return; // it will be counted with the end of its call
    const auto call = store.operation(*row.parent);
    if (call && *call && (*call)->parent == agent) left.sub_agents.push_back(std::move(row));
  });
}

/// No answer holds the tokens of summaries, of calls that were cut, or of an answer that a crash lost.
std::optional<fault> read_model_calls(store_reader& store, const operation_id& agent, left_work& left) {
  records::operation_filter f;
  f.parents = {agent};
  f.kinds = {kind::model_call};
  f.want_live = false;
  return for_each_operation(
      store, std::move(f), [&left](const records::operation_record& row) { left.own_use += usage_of(row.hot.result); });
}

/// The row that the call's own work has; none: nothing of it began.
const records::operation_record* work_of(const left_call& call, const tool_definition& tool) {
  const auto* found = call.below.empty() ? nullptr : &call.below.front();
  for (const auto& row : call.below)
    if (tool.how == tool_definition::runs::sub_agent && row.kind == kind::sub_agent) return &row;
  return found;
}

/// Whether this is the call's own work, which can be adopted.
bool is_adoptable(const left_call& call, const tool_definition& tool, const records::operation_record& work) {
  switch (tool.how) {
  case tool_definition::runs::task:
    return work.kind == kind::task && work.title == call.name;
  case tool_definition::runs::sub_agent:
    return work.kind == kind::sub_agent || work.title.starts_with("sub-agent ");
  case tool_definition::runs::session_status:
  case tool_definition::runs::background:
  case tool_definition::runs::question:
  case tool_definition::runs::web_search:
  case tool_definition::runs::mcp:
    break;
  }
  return false;
}

boot_time boot_of(wall_time at, moment now) { return now.boot - std::max(now.wall - at, wall_time::duration{0}); }

} // namespace

/// A progress of a call at a remote agent names its task. Others can come before it: the agent may take its time.
result<named_task> named_task_of(store_reader& store, const operation_id& call) {
  records::event_filter f;
  f.below = call;
  f.types = {event_type::tool_progress};
  f.limit = events_per_page;
  while (true) {
    const auto page = store.events(f);
    if (!page) return tl::unexpected(page.error());
    for (const auto& e : *page)
      if (auto name = task_named_by(e.data); !name.empty()) return named_task{std::move(name), e.at};
    if (page->size() < f.limit) return named_task{};
    f.after = page->back().id;
  }
}

result<left_work> read_left_work(store_reader& store, const records::operation_record& agent,
                                 const model_history& reported) {
  left_work left;
  if (auto why = read_calls(store, reported, left)) return tl::unexpected(*why);
  if (auto why = read_shown(store, agent.id, left)) return tl::unexpected(*why);
  if (auto why = read_sub_agents(store, agent.id, left)) return tl::unexpected(*why);
  if (auto why = read_model_calls(store, agent.id, left)) return tl::unexpected(*why);
  return left;
}

result<std::vector<records::kept_message>> read_aside(store_reader& store, const records::operation_record& sub_agent) {
  records::message_filter f;
  f.scope = sub_agent.scope;
  f.aside_of = sub_agent.id;
  f.limit = 200;
  std::vector<records::kept_message> kept;
  while (true) {
    auto page = store.messages(f);
    if (!page) return tl::unexpected(page.error());
    const bool is_last = page->size() < f.limit;
    for (auto& m : *page) kept.push_back(std::move(m));
    if (is_last) return kept;
    f.after_seq = kept.back().message.seq;
  }
}

resume_plan plan_resume(model_history& reported, const left_work& left, const tool_set& tools, moment now) {
  using state = actors::met_call::state;
  resume_plan plan;
  reported.past.usage = left.own_use;
  for (const auto& row : left.sub_agents) plan.below += usage_of(row.hot.result);
  // The watchers may lack the last results.
  if (const auto* results = reported.messages.empty() ? nullptr : std::get_if<tool_results>(&reported.messages.back());
      results && reported.calls.empty() && !reported.last.empty()) {
    reported.known = results->results;
    reported.calls = reported.last;
    reported.messages.pop_back();
  }
  reported.past.thought_points = left.thought_points;
  reported.past.unsaid = without_characters(reported.past.text, left.text_points);
  for (const auto& call : left.calls) {
    actors::met_call met{call.call, state::begun, {}, left.shown_starts.contains(call.call), call.input};
    if (call.now == status::pending) continue;
    const auto* tool = tools.find(call.name);
    const bool asks_people = tool && tool->how == tool_definition::runs::question && !call.asks.empty();
    if (asks_people) {
      met.at = state::runs;
      plan.names.emplace(call.operation, call.asks);
      plan.asking.push_back(call.operation);
      reported.past.met.push_back(std::move(met));
      continue;
    }
    if (call.now == status::paused && call.asks.empty()) {
      met.at = state::asking;
      reported.past.met.push_back(std::move(met));
      continue;
    }
    const auto* work = tool ? work_of(call, *tool) : nullptr;
    // An MCP server may have done its call, and a search may be paid for. A question that nobody has read is asked.
    if (tool && tool->is_remote_agent() && !call.remote_task.empty()) {
      met.at = state::runs;
      met.started = boot_of(call.remote_task_since, now);
      plan.names.emplace(call.operation, call.remote_task);
      reported.past.met.push_back(std::move(met));
      continue;
    }
    const bool is_unknown = !tool || tool->how == tool_definition::runs::mcp ||
                            tool->how == tool_definition::runs::web_search ||
                            (work && !is_adoptable(call, *tool, *work));
    if (is_unknown) {
      plan.unknown.push_back(call.operation);
      auto text = with_unknown_outcome(json_result_texts{}.interrupted());
      if (call.input) text = with_changed_input(text, *call.input);
      reported.known.push_back({call.call, call.name, false, false, std::move(text)});
      continue;
    }
    if (work) {
      met.at = state::runs;
      met.started = boot_of(work->hot.started_at.value_or(work->created_at), now);
      plan.adopted.emplace(call.operation, *work);
    }
    reported.past.met.push_back(std::move(met));
  }
  for (const auto& known : reported.known)
    if (!left.shown_ends.contains(known.call)) reported.past.unshown.push_back(known.call);
  return plan;
}

std::uint64_t resumed_from(const model_history& reported) {
  return code_points(reported.past.text) - code_points(reported.past.unsaid);
}

commands::begin_turn resuming(const operation_id& agent, const model_history& reported, const resume_plan& plan,
                              records::event_record event) {
  commands::begin_turn step;
  step.turn = agent;
  step.calls = reported.last;
  step.started_event = std::move(event);
  step.resumes = true;
  step.asking = plan.asking;
  step.unknown = plan.unknown;
  auto& end = step.unknown_end;
  end.as = status::failed;
  end.error = records::own_error(failure_code::interrupted,
                                 "the controller was restarted while it ran; its outcome is unknown");
  end.how = receipt::unconfirmed;
  end.evidence = proof::none;
  end.call = records::call_outcome{false, false, with_unknown_outcome(json_result_texts{}.interrupted())};
  return step;
}

model_usage usage_of(const std::string& result) {
  model_usage u;
  const auto read = json::parse(result, nullptr, false);
  if (!read.is_object() || !read.contains("usage") || !read["usage"].is_object()) return u;
  const auto& from = read["usage"];
  const auto number = [&](const char* name) {
    const auto at = from.find(name);
    return at != from.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
  };
  u.input_tokens = number("input_tokens");
  u.output_tokens = number("output_tokens");
  u.cached_input_tokens = number("cached_input_tokens");
  u.cache_written_tokens = number("cache_written_tokens");
  if (const auto cost = from.find("cost"); cost != from.end() && cost->is_number())
    u.cost_nanos = static_cast<decltype(u.cost_nanos)>(std::clamp(cost->get<double>() * 1e9 + 0.5, 0.0, 4e18));
  u.estimated = from.value("estimated", false);
  return u;
}

} // namespace quell::controller::turns
