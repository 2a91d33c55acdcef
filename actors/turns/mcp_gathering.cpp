// Requests the tools of MCP servers and remembers the servers that do not answer.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/turns/mcp_host.hpp"
#include "integrations/mcp/stdio_server.hpp"

namespace quell::controller::turns {

namespace {

constexpr milliseconds answers_within{20'000};  ///< for a server that a turn waits for
constexpr milliseconds agent_within{2'000};     ///< for a remote agent's card, which is read ahead of turns
constexpr milliseconds silent_within{500};      ///< for a server that was silent in its last life
constexpr std::chrono::seconds silent_for{120}; ///< a server that has not answered for this long is restarted
constexpr milliseconds first_try{1'000};        ///< a url that failed is retried after this time
constexpr milliseconds longest_try{60'000};
constexpr const char* login_needed = "mcp_login_needed";

std::string without_tools(const std::string& name, const std::string& why) {
  return "the " + server_title(name) + " has no tools to offer now: " + why;
}

} // namespace

void mcp_host::tools(const std::vector<std::string>& servers, const mcp_user& user, std::function<void(offered)> done) {
  const auto runtime = runtime_.lock();
  if (servers.empty() || !runtime) return done({});
  const auto all = std::make_shared<tool_gathering>(servers.size(), std::move(done));
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto id = place_of(*runtime, servers[i], user.agent);
    if (id.second) {
      const std::lock_guard lock(guard_);
      places_[id].user = user;
    }
    bool wants_login = false;
    if (const auto trouble = known_trouble(id, wants_login); !trouble.empty()) {
      all->answer(i, {{}, trouble, wants_login ? id.first : std::string()}, [] {});
      continue;
    }
    const auto answer = [all, i, id,
                         self = shared_from_this()](const result<std::vector<integrations::mcp_tool>>& tools) {
      const auto held = self->runtime_.lock();
      if (!held) return;
      tool_gathering::contribution what;
      if (tools)
        for (const auto& t : *tools)
          what.tools.push_back(mcp_tool_definition(
              *held->settings.get(), id.first, {t.name, t.description, t.input_schema, t.read_only, t.destructive}));
      else
        what.problem = without_tools(id.first, tools.error().detail);
      if (!tools && tools.error().code == login_needed) what.login = id.first;
      all->answer(i, std::move(what), [&self, &id, &tools] { self->answered_or_not(id, tools); });
    };
    ask_for_tools(id, answer, 1);
    if (all->is_settled(i)) continue;
    const auto allowance = allowance_for(id);
    runtime->background_reads->run_after(allowance, [all, i, allowance, id, self = shared_from_this()](store_reader&) {
      all->time_out(i,
                    {{},
                     "the " + server_title(id.first) + " has not answered within " + std::to_string(allowance.count()) +
                         " ms: its tools are left out",
                     {}},
                    [&] { self->silent(id, allowance); });
    });
  }
}

/// It can be ending right now, or have ended unnoticed: then the next one is asked.
void mcp_host::ask_for_tools(const place_id& id, integrations::mcp_server::tools_reply answer, int more) {
  when_ready(id, [self = shared_from_this(), id, answer = std::move(answer),
                  more](const std::shared_ptr<integrations::mcp_server>& one, const std::string& why) {
    if (!one) return answer(failure(failure_code::mcp_unreachable, why));
    const bool is_ours = std::dynamic_pointer_cast<integrations::mcp_stdio_server>(one) != nullptr;
    one->tools([self, id, answer, more, is_ours](const result<std::vector<integrations::mcp_tool>>& tools) {
      if (tools || !is_ours || more == 0 || !has_code(tools.error(), failure_code::mcp_unreachable))
        return answer(tools);
      self->ask_for_tools(id, answer, more - 1);
    });
  });
}

/// The reason why no caller waits for its tools now; "" = its tools are requested. A server that never answers is
/// ended, so that the next turn starts another one.
std::string mcp_host::known_trouble(const place_id& id, bool& wants_login) {
  const auto runtime = runtime_.lock();
  if (!runtime) return {};
  const std::lock_guard lock(guard_);
  const auto found = places_.find(id);
  if (found == places_.end()) return {};
  const place& p = found->second;
  if (p.is_silent && p.task && runtime->core.now().boot - p.begun > silent_for) p.task->stop(stop_cause::timeout);
  wants_login = p.wants_login;
  return p.trouble;
}

milliseconds mcp_host::allowance_for(const place_id& id) {
  const std::lock_guard lock(guard_);
  const auto found = places_.find(id);
  if (found != places_.end() && found->second.is_silent) return silent_within;
  return is_remote_agent(id.first) ? agent_within : answers_within;
}

void mcp_host::answered(const place_id& id) {
  bool was_in_trouble = false;
  {
    const std::lock_guard lock(guard_);
    const auto found = places_.find(id);
    if (found == places_.end()) return;
    found->second.is_silent = found->second.wants_login = false;
    was_in_trouble = !std::exchange(found->second.trouble, {}).empty();
  }
  if (was_in_trouble) spdlog::info("{} answers again", server_title(id.first));
}

void mcp_host::answered_or_not(const place_id& id, const result<std::vector<integrations::mcp_tool>>& tools) {
  if (tools)
    answered(id);
  else
    out_of_reach(id, tools.error());
}

/// It can need long for its start, so it keeps running, and its answer ends its trouble.
void mcp_host::silent(const place_id& id, milliseconds allowance) {
  const std::lock_guard lock(guard_);
  const auto found = places_.find(id);
  if (found == places_.end() || !found->second.server) return;
  found->second.is_silent = true;
  found->second.trouble = without_tools(id.first, "it has not answered within " + std::to_string(allowance.count()) +
                                                      " ms, and is not waited for until it does");
}

/// A url that failed is retried in the background; a command is started again when needed.
void mcp_host::out_of_reach(const place_id& id, const fault& why) {
  const auto runtime = runtime_.lock();
  const auto settings = runtime ? settings_of(*runtime, id.first) : std::nullopt;
  if (!settings || settings->url.empty()) return;
  {
    const std::lock_guard lock(guard_);
    const auto found = places_.find(id);
    if (found == places_.end()) return;
    found->second.trouble = without_tools(id.first, why.detail + " (it is tried again in the background)");
    found->second.wants_login = why.code == login_needed;
    if (std::exchange(found->second.is_tried, true)) return;
  }
  runtime->log.warn(server_title(id.first), server_title(id.first) + " is out of reach: " + why.detail,
                    runtime->core.now().boot);
  try_again(id, first_try);
}

/// The next turn asks it again instead of going on without it.
void mcp_host::look_again(const std::string& name) {
  const std::lock_guard lock(guard_);
  for (auto& [id, p] : places_)
    if (id.first == name && std::exchange(p.wants_login, false)) p.trouble.clear();
}

void mcp_host::try_again(const place_id& id, milliseconds pause) {
  const auto runtime = runtime_.lock();
  if (!runtime) return;
  runtime->background_reads->run_after(pause, [self = shared_from_this(), id, pause](store_reader&) {
    self->ask_for_tools(
        id,
        [self, id, pause](const result<std::vector<integrations::mcp_tool>>& tools) {
          if (!tools) {
            self->out_of_reach(id, tools.error());
            return self->try_again(id, std::min(pause * 2, longest_try));
          }
          {
            const std::lock_guard lock(self->guard_);
            if (const auto found = self->places_.find(id); found != self->places_.end()) found->second.is_tried = false;
          }
          self->answered(id);
        },
        0);
  });
}

void mcp_host::read_cards() {
  const auto runtime = runtime_.lock();
  if (!runtime) return;
  const auto settings = runtime->settings.get();
  for (const auto& one : settings->mcp) {
    if (!is_remote_agent(one.name)) continue;
    const place_id id{one.name, std::nullopt};
    const auto read = [self = shared_from_this(), id](const result<std::vector<integrations::mcp_tool>>& tools) {
      self->answered_or_not(id, tools);
    };
    ask_for_tools(id, read, 0);
  }
}

} // namespace quell::controller::turns
