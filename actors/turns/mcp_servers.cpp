// Starts, ends and restarts the configured MCP servers.
#include "actors/turns/mcp_servers.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "controller/commands/command_request.hpp"
#include "controller/commands/stop_local.hpp"
#include "integrations/a2a/agent_server.hpp"
#include "integrations/mcp/http_server.hpp"
#include "integrations/mcp/stdio_server.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::seconds short_life{30}; ///< an end so soon after the start counts as a failure
constexpr milliseconds first_pause{500};
constexpr milliseconds longest_pause{60'000};
constexpr milliseconds soon{5'000}; ///< a pause for which callers wait

} // namespace

result<std::shared_ptr<integrations::mcp_server>>
connect_over_http(const mcp_settings& settings, mcp_accounts& accounts, integrations::mcp_hooks hooks) {
  if (is_remote_agent(settings.name))
    return integrations::a2a_agent_server(settings.name.substr(remote_agent_prefix.size()), settings.url, settings.key);
  integrations::mcp_http_options options;
  options.credentials = accounts.of(settings.name);
  return integrations::mcp_http_server(settings.name, settings.url, settings.key, std::move(options), std::move(hooks));
}

std::optional<mcp_settings> mcp_servers::settings_of(const agent_runtime& runtime, const std::string& name) const {
  const auto now = runtime.settings.get();
  const auto& all = now->mcp;
  const auto found = std::find_if(all.begin(), all.end(), [&](const mcp_settings& m) { return m.name == name; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

mcp_servers::place_id mcp_servers::place_of(const agent_runtime& runtime, const std::string& name,
                                            const operation_id& agent) const {
  const auto settings = settings_of(runtime, name);
  if (settings && settings->per_turn) return {name, agent};
  return {name, std::nullopt};
}

/// nullptr: nobody has needed it, or its agent has ended.
mcp_servers::place* mcp_servers::known(const place_id& id) {
  const auto found = places_.find(id);
  return found == places_.end() ? nullptr : &found->second;
}

void mcp_servers::when_ready(const std::string& name, const operation_id& agent, when_known done) {
  const auto runtime = runtime_.lock();
  if (!runtime) return done(nullptr, "the controller ends");
  when_ready(place_of(*runtime, name, agent), std::move(done));
}

void mcp_servers::when_ready(const place_id& id, when_known done) {
  auto found = server(id);
  if (found.server || found.wait.count() == 0 || found.wait > soon) return done(std::move(found.server), found.why);
  loop_.after(found.wait, [this, id, done = std::move(done)] {
    auto then = server(id);
    done(std::move(then.server), then.why);
  });
}

mcp_servers::found_server mcp_servers::server(const place_id& id) {
  const auto runtime = runtime_.lock();
  if (!runtime) return {};
  const std::string& name = id.first;
  const auto settings = settings_of(*runtime, name);
  if (!settings) return {nullptr, "there is no " + server_title(name) + " configured"};
  // An agent's own server starts together with the agent's tools, and never after the agent's end.
  if (id.second && !known(id)) return {nullptr, "the turn of this MCP server " + name + " is over"};
  place& p = places_[id];
  if (p.server) return {p.server};
  const auto now = runtime->core.now().boot;
  if (now < p.not_before) {
    const auto wait = std::chrono::ceil<milliseconds>(p.not_before - now);
    return {nullptr,
            "the MCP server " + name + " " + p.last_end +
                (p.failures > 1 ? ", for the " + std::to_string(p.failures) + "th time in a row" : std::string()) +
                "; it is begun again in " + std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()) +
                " s",
            wait};
  }
  p.begun = now;
  p.trouble.clear();
  if (settings->url.empty()) {
    begin_command(runtime, *settings, id, p);
  } else {
    integrations::mcp_hooks hooks;
    hooks.warning = [weak = runtime_, name](const std::string& what) {
      if (const auto held = weak.lock())
        held->log.warn("MCP server " + name, "MCP server " + name + " complains: " + what, held->core.now().boot);
    };
    auto made = connect_(*settings, *accounts_, std::move(hooks));
    if (!made) return {nullptr, made.error().detail};
    p.server = std::move(*made);
  }
  show_troubles();
  return {p.server};
}

/// Runs it as a task: a shared server in the scope `quell/mcp/NAME` without a parent; an agent's own server below its
/// agent, whose end stops it.
void mcp_servers::begin_command(const std::shared_ptr<agent_runtime>& runtime, const mcp_settings& settings,
                                const place_id& id, place& in) {
  const auto task = std::make_shared<piped_task>(runtime, server_title(settings.name));
  integrations::mcp_hooks hooks;
  hooks.warning = [weak = runtime_, title = server_title(settings.name)](const std::string& what) {
    if (const auto held = weak.lock()) held->log.warn(title, title + " " + what, held->core.now().boot);
  };
  const auto server = std::make_shared<integrations::mcp_stdio_server>(
      settings.name,
      [weak = std::weak_ptr(task)](std::string bytes) {
        if (const auto to = weak.lock()) to->write(std::move(bytes));
      },
      std::move(hooks));
  create_order order;
  if (in.user) {
    order.by = agent_runtime::acting_for(in.user->owner);
    order.parent = in.user->parent;
    order.on_parent_end = on_parent_end::cancel;
  } else {
    order.by = agent_runtime::acting_for({"quell", "quell"});
    order.scope = *scope_path::parse("quell/mcp/" + settings.name);
    spdlog::info("MCP server {} begins", settings.name);
  }
  order.name = settings.name;
  order.title = server_title(settings.name);
  order.task.command = settings.command;
  order.task.env = settings.env;
  order.task.worker = settings.worker;
  order.task.user = settings.user;
  order.task.on = settings.on;
  order.task.slots = 0; // it waits for most of its life
  order.task.leader_exit = on_leader_exit::kill;
  task->start(std::move(order),
              {[server] { server->started(); }, [server](std::string_view bytes) { server->received(bytes); },
               [this, server, post = loop_.poster(), id](const std::string& why, bool was_stopped) {
                 post([this, server, id, why, was_stopped] {
                   // Removed before the notice, since a caller that learns of the end can request another one.
                   gone(id, why, was_stopped);
                   server->closed(why);
                 });
               }});
  in.server = server;
  in.task = task;
}

/// It is started again when needed, after longer and longer pauses if it never lasts.
void mcp_servers::gone(const place_id& id, const std::string& why, bool was_stopped) {
  const auto runtime = runtime_.lock();
  if (!runtime) return;
  place* const p = known(id);
  if (!p) return; // its agent has ended
  const auto now = runtime->core.now().boot;
  p->server.reset();
  p->task.reset();
  p->trouble.clear();
  p->last_end = why;
  p->failures = !was_stopped && now - p->begun < short_life ? p->failures + 1 : 0;
  if (p->failures > 0) {
    const auto pause = std::min<milliseconds>(first_pause * (1LL << std::min(p->failures - 1, 10U)), longest_pause);
    p->not_before = now + pause;
  }
  show_troubles();
  const auto title = server_title(id.first);
  spdlog::warn("{}", runtime->log.always(title + " " + why));
}

/// Of several places of a name the first that has a trouble is shown.
void mcp_servers::show_troubles() {
  std::map<std::string, std::string> all;
  for (const auto& [id, p] : places_) {
    const bool ended_soon = !p.server && p.failures > 0;
    if (p.trouble.empty() && !ended_soon) continue;
    all.try_emplace(id.first, p.trouble.empty() ? "soon after its start it " + p.last_end : p.trouble);
  }
  troubles_->set(std::move(all));
}

void mcp_servers::user_over(const operation_id& agent) {
  std::vector<place> over;
  for (auto at = places_.begin(); at != places_.end();) {
    const bool is_its_own = at->first.second == agent;
    if (is_its_own) over.push_back(std::move(at->second));
    at = is_its_own ? places_.erase(at) : std::next(at);
  }
  if (over.empty()) return;
  show_troubles();
  for (const place& one : over) {
    if (!one.task) continue;
    one.task->end_input();
    one.task->stop(stop_cause::parent_ended); // a sub-agent's server is a child of the call, which can live on
  }
}

void clear_mcp_leftovers(const agent_runtime& runtime, store_reader& store) {
  std::vector<operation_id> ids;
  const auto stop_all = [&](const records::operation_filter& f, bool of_turns) {
    const auto left = store.operations(f);
    if (!left) return;
    for (const auto& row : *left)
      if (!of_turns || (row.parent && row.title == server_title(row.name))) ids.push_back(row.id);
  };
  records::operation_filter shared;
  shared.scopes = {*scope_path::parse("quell/mcp")};
  shared.want_ended = false;
  stop_all(shared, false);
  records::operation_filter own; // of a turn that waits for a human and therefore lives on
  own.want_ended = false;
  own.kinds = {kind::task};
  own.limit = 1'000;
  const auto settings = runtime.settings.get();
  for (const auto& one : settings->mcp)
    if (one.per_turn) own.names.push_back(one.name);
  if (!own.names.empty()) stop_all(own, true);
  if (ids.empty()) return;
  runtime.core.execute({commands::stop_local{ids, stop_cause::superseded}, {}});
}

} // namespace quell::controller::turns
