// Requests the tools of MCP servers and remembers the servers that do not answer.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/turns/guarded_step.hpp"
#include "actors/turns/left_stops.hpp"
#include "actors/turns/mcp_servers.hpp"
#include "integrations/mcp/server_code.hpp"
#include "integrations/mcp/stdio_server.hpp"

namespace quell::controller::turns {

namespace {

constexpr milliseconds answers_within{20'000};  ///< for a server that a turn waits for
constexpr milliseconds agent_within{2'000};     ///< for a remote agent's card, which is read ahead of turns
constexpr milliseconds silent_within{500};      ///< for a server that was silent in its last life
constexpr std::chrono::seconds silent_for{120}; ///< a server that has not answered for this long is restarted
constexpr milliseconds first_try{1'000};        ///< a url that failed is retried after this time
constexpr milliseconds longest_try{60'000};

std::string without_tools(const std::string& name, const std::string& why) {
  return "the " + server_title(name) + " has no tools to offer now: " + why;
}

} // namespace

void mcp_servers::tools(const std::vector<std::string>& servers, const mcp_user& user,
                        std::function<void(offered_tools)> done) {
  const auto runtime = runtime_.lock();
  if (servers.empty() || !runtime) return done({});
  const auto all = std::make_shared<tool_gathering>(servers.size(), std::move(done));
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto id = place_of(*runtime, servers[i], user.agent);
    if (id.second) places_[id].user = user;
    if (const auto trouble = known_trouble(id); !trouble.empty()) {
      all->answer(i, {{}, trouble, known(id)->wants_login ? id.first : std::string()});
      continue;
    }
    ask_for_tools(
        id,
        [this, all, i, id](const offered_list& tools) {
          const auto held = runtime_.lock();
          if (!held) return;
          answered_or_not(id, tools);
          tool_gathering::contribution what;
          if (tools)
            for (const auto& t : *tools)
              what.tools.push_back(
                  mcp_tool_definition(*held->settings.get(), id.first,
                                      {t.name, t.description, t.input_schema, t.read_only, t.destructive}));
          else
            what.problem = without_tools(id.first, tools.error().detail);
          if (!tools && has_code(tools.error(), server_code::mcp_login_needed)) what.login = id.first;
          all->answer(i, std::move(what));
        },
        1);
    const auto allowance = allowance_for(id);
    loop_.after(allowance, [this, all, i, allowance, id] {
      if (all->is_settled(i)) return;
      silent(id, allowance);
      all->answer(i, {{},
                      "the " + server_title(id.first) + " has not answered within " +
                          std::to_string(allowance.count()) + " ms: its tools are left out",
                      {}});
    });
  }
}

/// It can be ending right now, or have ended unnoticed: then the next one is asked.
void mcp_servers::ask_for_tools(const place_id& id, std::function<void(offered_list)> answer, int more) {
  when_ready(id, [this, id, answer = std::move(answer), more](const std::shared_ptr<integrations::mcp_server>& one,
                                                              const std::string& why) {
    if (!one) return answer(failure(failure_code::mcp_unreachable, why));
    const bool is_ours = std::dynamic_pointer_cast<integrations::mcp_stdio_server>(one) != nullptr;
    one->tools([this, post = loop_.poster(), id, answer, more, is_ours](offered_list tools) {
      post([this, id, answer, more, is_ours, tools = std::make_shared<offered_list>(std::move(tools))] {
        if (*tools || !is_ours || more == 0 || !has_code(tools->error(), failure_code::mcp_unreachable))
          return answer(std::move(*tools));
        ask_for_tools(id, answer, more - 1);
      });
    });
  });
}

/// The reason why no caller waits for its tools now; "" = its tools are requested. A server that never answers is
/// ended, so that the next turn starts another one.
std::string mcp_servers::known_trouble(const place_id& id) {
  const auto runtime = runtime_.lock();
  const place* const p = known(id);
  if (!runtime || !p) return {};
  if (p->is_silent && p->task && runtime->core.now().boot - p->begun > silent_for) p->task->stop(stop_cause::timeout);
  return p->trouble;
}

milliseconds mcp_servers::allowance_for(const place_id& id) {
  if (const place* const p = known(id); p && p->is_silent) return silent_within;
  return is_remote_agent(id.first) ? agent_within : answers_within;
}

void mcp_servers::answered(const place_id& id) {
  place* const p = known(id);
  if (!p) return;
  p->is_silent = p->wants_login = false;
  if (std::exchange(p->trouble, {}).empty()) return;
  show_troubles();
  spdlog::info("{} answers again", server_title(id.first));
}

void mcp_servers::answered_or_not(const place_id& id, const offered_list& tools) {
  if (tools)
    answered(id);
  else
    out_of_reach(id, tools.error());
}

/// It can need long for its start, so it keeps running, and its answer ends its trouble.
void mcp_servers::silent(const place_id& id, milliseconds allowance) {
  place* const p = known(id);
  if (!p || !p->server) return;
  p->is_silent = true;
  p->trouble = without_tools(id.first, "it has not answered within " + std::to_string(allowance.count()) +
                                           " ms, and is not waited for until it does");
  show_troubles();
}

/// A url that failed is retried in the background; a command is started again when needed.
void mcp_servers::out_of_reach(const place_id& id, const fault& why) {
  const auto runtime = runtime_.lock();
  const auto settings = runtime ? settings_of(*runtime, id.first) : std::nullopt;
  place* const p = known(id);
  if (!settings || settings->url.empty() || !p) return;
  p->trouble = without_tools(id.first, why.detail + " (it is tried again in the background)");
  p->wants_login = has_code(why, server_code::mcp_login_needed);
  show_troubles();
  if (std::exchange(p->is_tried, true)) return;
  runtime->log.warn(server_title(id.first), server_title(id.first) + " is out of reach: " + why.detail,
                    runtime->core.now().boot);
  try_again(id, first_try);
}

void mcp_servers::login_changed(const std::string& name) {
  for (auto& [id, p] : places_)
    if (id.first == name && std::exchange(p.wants_login, false)) p.trouble.clear();
  show_troubles();
}

void mcp_servers::try_again(const place_id& id, milliseconds pause) {
  loop_.after(pause, [this, id, pause] {
    ask_for_tools(
        id,
        [this, id, pause](const offered_list& tools) {
          if (!tools) {
            out_of_reach(id, tools.error());
            return try_again(id, std::min(pause * 2, longest_try));
          }
          if (place* const p = known(id)) p->is_tried = false;
          answered(id);
        },
        0);
  });
}

void mcp_servers::read_cards() {
  const auto runtime = runtime_.lock();
  if (!runtime) return;
  runtime->background_reads->run([runtime](store_reader& store) { tell_left_stops(runtime, store); });
  const auto settings = runtime->settings.get();
  for (const auto& one : settings->mcp) {
    if (!is_remote_agent(one.name)) continue;
    const place_id id{one.name, std::nullopt};
    run_guarded("the card of " + server_title(one.name), [&] {
      ask_for_tools(
          id, [this, id](const offered_list& tools) { answered_or_not(id, tools); }, 0);
    });
  }
}

} // namespace quell::controller::turns
