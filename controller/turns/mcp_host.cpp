// Which servers there are, and asking them all for their tools.
#include "controller/turns/mcp_host.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>

#include "integrations/mcp/http_server.hpp"
#include "integrations/mcp/stdio_server.hpp"

namespace quell::controller::turns {

namespace {

constexpr milliseconds answers_within{20'000};  ///< a server that a turn waits for
constexpr milliseconds silent_within{500};      ///< one that did not answer the last one
constexpr std::chrono::seconds silent_for{120}; ///< so old it is begun anew if it never answers
constexpr std::chrono::seconds short_life{30};  ///< an end so soon after the beginning is a failure
constexpr milliseconds first_pause{500};
constexpr milliseconds longest_pause{60'000};
constexpr milliseconds soon{5'000}; ///< a pause that is waited for

/// The answers of several servers, gathered; what comes after the time is left out.
struct gathering {
  std::mutex guard;
  std::vector<std::vector<tool_definition>> found;
  std::vector<std::string> problems;
  std::vector<bool> answered;
  std::size_t open = 0;
  std::function<void(std::vector<tool_definition>, std::string)> done;

  void finish_if_all(std::unique_lock<std::mutex>& lock) {
    if (open > 0 || !done) return;
    auto tell = std::exchange(done, nullptr);
    std::vector<tool_definition> all;
    std::string note;
    for (auto& one : found) std::move(one.begin(), one.end(), std::back_inserter(all));
    found.clear(); // the look at the clock holds this for a while yet
    for (const auto& p : problems)
      if (!p.empty()) note += (note.empty() ? "" : "; ") + p;
    lock.unlock();
    tell(std::move(all), std::move(note));
  }
};

} // namespace

void mcp_host::tools(const std::vector<std::string>& servers,
                     std::function<void(std::vector<tool_definition> tools, std::string note)> done) {
  const auto parts = parts_.lock();
  if (servers.empty() || !parts) return done({}, {});
  auto all = std::make_shared<gathering>();
  all->found.resize(servers.size());
  all->problems.resize(servers.size());
  all->answered.resize(servers.size());
  all->open = servers.size();
  all->done = std::move(done);
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto answer = [all, i, name = servers[i],
                         self = shared_from_this()](const result<std::vector<integrations::mcp_tool>>& tools) {
      const auto held = self->parts_.lock();
      if (tools) self->answered(name);
      std::unique_lock lock(all->guard);
      if (all->answered[i] || !all->done || !held) return;
      all->answered[i] = true;
      --all->open;
      if (tools)
        for (const auto& t : *tools)
          all->found[i].push_back(mcp_tool_definition(
              held->settings, name, {t.name, t.description, t.input_schema, t.read_only, t.destructive}));
      else
        all->problems[i] = "the MCP server " + name + " has no tools to offer now: " + tools.error().detail;
      all->finish_if_all(lock);
    };
    ask_for_tools(servers[i], answer, 1);
    {
      const std::lock_guard lock(all->guard);
      if (all->answered[i]) continue;
    }
    const auto patience = patience_with(servers[i]);
    parts->later->run_after(patience,
                            [all, i, patience, name = servers[i], self = shared_from_this()](storage::queries&) {
                              {
                                std::unique_lock lock(all->guard);
                                if (all->answered[i] || !all->done) return;
                                all->answered[i] = true;
                                --all->open;
                                all->problems[i] = "the MCP server " + name + " has not answered within " +
                                                   std::to_string(patience.count()) + " ms: its tools are left out";
                                all->finish_if_all(lock);
                              }
                              self->silent(name);
                            });
  }
}

/// It may be ending at this moment, or be gone without that anybody has seen it: then the next one is asked.
void mcp_host::ask_for_tools(const std::string& name, integrations::mcp_server::tools_reply answer, int more) {
  when_there(name, [self = shared_from_this(), name, answer = std::move(answer),
                    more](const std::shared_ptr<integrations::mcp_server>& one, const std::string& why) {
    if (!one) return answer(failure("mcp_unreachable", why));
    const bool is_ours = std::dynamic_pointer_cast<integrations::mcp_stdio_server>(one) != nullptr;
    one->tools([self, name, answer, more, is_ours](const result<std::vector<integrations::mcp_tool>>& tools) {
      if (tools || !is_ours || more == 0 || tools.error().code != "mcp_unreachable") return answer(tools);
      self->ask_for_tools(name, answer, more - 1);
    });
  });
}

void mcp_host::when_there(const std::string& name, there done) {
  std::string why;
  milliseconds wait{0};
  auto found = server(name, why, wait);
  const auto parts = parts_.lock();
  if (found || wait.count() == 0 || wait > soon || !parts) return done(std::move(found), why);
  parts->later->run_after(wait, [self = shared_from_this(), name, done = std::move(done)](storage::queries&) {
    std::string still;
    milliseconds longer{0};
    auto now_there = self->server(name, still, longer);
    done(std::move(now_there), still);
  });
}

/// `wait`: after that time it may be begun.
std::shared_ptr<integrations::mcp_server> mcp_host::server(const std::string& name, std::string& why,
                                                           milliseconds& wait) {
  const auto parts = parts_.lock();
  if (!parts) return nullptr;
  const auto settings = std::find_if(parts->settings.mcp.begin(), parts->settings.mcp.end(),
                                     [&](const mcp_settings& m) { return m.name == name; });
  if (settings == parts->settings.mcp.end()) {
    why = "there is no MCP server " + name + " configured";
    return nullptr;
  }
  const std::lock_guard lock(guard_);
  place& p = places_[name];
  if (p.server) return p.server;
  const auto now = parts->heart.now().boot;
  if (now < p.not_before) {
    wait = std::chrono::ceil<milliseconds>(p.not_before - now);
    why = "the MCP server " + name + " " + p.last_end +
          (p.failures > 1 ? ", for the " + std::to_string(p.failures) + "th time in a row" : std::string()) +
          "; it is begun again in " + std::to_string(std::chrono::ceil<std::chrono::seconds>(wait).count()) + " s";
    return nullptr;
  }
  p.begun = now;
  p.is_silent = false;
  if (!settings->url.empty()) {
    auto made = integrations::mcp_http_server(settings->name, settings->url, settings->key);
    if (!made) {
      why = made.error().detail;
      return nullptr;
    }
    p.server = std::move(*made);
    return p.server;
  }
  begin_command(parts, *settings, p);
  spdlog::info("MCP server {} begins", name);
  return p.server;
}

milliseconds mcp_host::patience_with(const std::string& name) {
  const std::lock_guard lock(guard_);
  return places_[name].is_silent ? silent_within : answers_within;
}

void mcp_host::answered(const std::string& name) {
  const std::lock_guard lock(guard_);
  places_[name].is_silent = false;
}

/// It may need long for its beginning, so it is left at it for a while; but not for ever.
void mcp_host::silent(const std::string& name) {
  const auto parts = parts_.lock();
  if (!parts) return;
  const std::lock_guard lock(guard_);
  place& p = places_[name];
  if (!p.server) return;
  p.is_silent = true;
  if (p.task && parts->heart.now().boot - p.begun > silent_for) p.task->stop(stop_cause::timeout);
}

/// As a task in the scope `quell/mcp/NAME`, nobody's child.
void mcp_host::begin_command(const std::shared_ptr<shared_parts>& parts, const mcp_settings& settings, place& in) {
  const auto task = std::make_shared<piped_task>(parts, "MCP server " + settings.name);
  integrations::mcp_hooks hooks;
  hooks.complaint = [name = settings.name](const std::string& what) { spdlog::warn("MCP server {}: {}", name, what); };
  const auto server = std::make_shared<integrations::mcp_stdio_server>(
      settings.name,
      [weak = std::weak_ptr(task)](std::string bytes) {
        if (const auto to = weak.lock()) to->write(std::move(bytes));
      },
      std::move(hooks));
  create_order order;
  order.by = shared_parts::acting_for({"quell", "quell"});
  order.scope = *scope_path::parse("quell/mcp/" + settings.name);
  order.name = settings.name;
  order.title = "MCP server " + settings.name;
  order.task.command = settings.command;
  order.task.env = settings.env;
  order.task.worker = settings.worker;
  order.task.on = settings.on;
  order.task.slots = 0; // it waits for most of its life
  order.task.leader_exit = on_leader_exit::kill;
  task->start(std::move(order),
              {[server] { server->started(); }, [server](std::string_view bytes) { server->received(bytes); },
               [server, weak = weak_from_this(), name = settings.name](const std::string& why, bool was_stopped) {
                 // First it is no longer there: who hears of the end may ask for another one.
                 if (const auto self = weak.lock()) self->gone(name, why, was_stopped);
                 server->closed(why);
               }});
  in.server = server;
  in.task = task;
}

/// It is begun again when somebody needs it, later and later if it never lasts.
void mcp_host::gone(const std::string& name, const std::string& why, bool was_stopped) {
  const auto parts = parts_.lock();
  if (!parts) return;
  const auto now = parts->heart.now().boot;
  const std::lock_guard lock(guard_);
  place& p = places_[name];
  p.server.reset();
  p.task.reset();
  p.last_end = why;
  p.failures = !was_stopped && now - p.begun < short_life ? p.failures + 1 : 0;
  if (p.failures > 0) {
    const auto pause = std::min<milliseconds>(first_pause * (1LL << std::min(p.failures - 1, 10U)), longest_pause);
    p.not_before = now + pause;
  }
  spdlog::warn("MCP server {} {}", name, why);
}

void mcp_host::end() {
  std::map<std::string, place> all; // ends outside of the lock
  {
    const std::lock_guard lock(guard_);
    all.swap(places_);
  }
}

void mcp_host::clear_leftovers(storage::queries& store) {
  const auto parts = parts_.lock();
  storage::operation_filter f;
  f.scopes = {*scope_path::parse("quell/mcp")};
  f.want_ended = false;
  const auto left = store.operations(f);
  if (!parts || !left || left->empty()) return;
  std::vector<operation_id> ids;
  for (const auto& row : *left) ids.push_back(row.id);
  parts->heart.ask([ids](ledger& l, moment now) -> std::function<void()> {
    for (const auto& id : ids) l.actors()->stop_own(id, stop_cause::superseded, {}, now);
    return [] {};
  });
}

} // namespace quell::controller::turns
