// Keeps one scope actor for each scope in which agents run, and the report of each agent's death. An agent whose
// scope's actor dies is linked to it: it dies, too, and is reported here. A core that dies ends the process.
#include "actors/supervisor_actor.hpp"

#include <algorithm>
#include <caf/all.hpp>
#include <exception>
#include <spdlog/spdlog.h>
#include <string>
#include <unordered_map>
#include <utility>

#include "actors/agent_actor.hpp"
#include "actors/own_exit.hpp"
#include "actors/scope_actor.hpp"

namespace quell::actors {

namespace {

struct running_scope {
  scope_actor actor;
  std::unordered_map<agent_ref, std::function<void()>> reports; ///< one for each agent that is not known to be over
};

struct supervisor_state {
  scope_maker make;
  std::unordered_map<std::string, running_scope> scopes; ///< by their text; each has an agent
};

using supervisor_pointer = supervisor_actor::stateful_pointer<supervisor_state>;

void begin(supervisor_pointer self, const begin_agent& m) {
  auto& scope = self->state.scopes[m.which->scope.text()];
  if (!scope.actor) scope.actor = self->state.make(*self, caf::actor_cast<supervisor_actor>(self));
  scope.reports.emplace(m.which, m.broke);
  self->send<caf::message_priority::high>(scope.actor, m);
}

void pass_on(supervisor_pointer self, const tell_agent& m) {
  const auto scope = self->state.scopes.find(m.which->scope.text());
  if (scope == self->state.scopes.end() || scope->second.reports.count(m.which) == 0) return;
  const bool is_normal =
      std::holds_alternative<on_human_decision>(m.what) || std::holds_alternative<call_waits>(m.what);
  if (is_normal) return self->send(scope->second.actor, m);
  self->send<caf::message_priority::high>(scope->second.actor, m);
}

/// A scope without agents ends: nobody else knows its actor, so nothing can be on its way to it.
void ended(supervisor_pointer self, const agent_ended& m) {
  const auto scope = self->state.scopes.find(m.which->scope.text());
  if (scope == self->state.scopes.end()) return;
  const auto report = scope->second.reports.extract(m.which);
  if (!report.empty() && m.is_broken) report.mapped()();
  if (!scope->second.reports.empty()) return;
  self->send_exit(scope->second.actor, caf::exit_reason::unreachable);
  self->state.scopes.erase(scope);
}

/// A scope's actor has exited, or the process ends. Foreign and repeated exits change nothing, whatever their reason.
void exited(supervisor_pointer self, const caf::exit_msg& m) {
  auto& scopes = self->state.scopes;
  if (!m.reason || m.reason == caf::exit_reason::unreachable) return; // it had no agents left
  const auto dead =
      std::find_if(scopes.begin(), scopes.end(), [&](const auto& s) { return s.second.actor.address() == m.source; });
  if (dead == scopes.end()) {
    if (ends_actor(self, m)) self->quit(m.reason);
    return;
  }
  const auto reports = std::move(dead->second.reports);
  scopes.erase(dead);
  for (const auto& [which, report] : reports) report();
}

/// Without its core the process would take orders and answer none; the next life recovers from disk.
void core_died(const caf::down_msg& m, const caf::actor_addr& core) {
  if (m.source != core || m.reason == caf::exit_reason::user_shutdown) return;
  spdlog::critical("the actor of the core has died, so the process ends");
  std::terminate();
}

supervisor_actor::behavior_type supervisor_behavior(supervisor_pointer self, const scope_maker& make,
                                                    const caf::actor_addr& core) {
  self->state.make = make;
  // A report that is lost would leave a turn that nobody ends; the next life of the process ends it.
  self->set_exception_handler([](std::exception_ptr&) -> caf::error { std::terminate(); });
  self->set_exit_handler([self](const caf::exit_msg& m) { exited(self, m); });
  self->set_down_handler([core](const caf::down_msg& m) { core_died(m, core); });
  self->monitor(core);
  return {
      [self](const begin_agent& m) { begin(self, m); },
      [self](const tell_agent& m) { pass_on(self, m); },
      [self](const agent_ended& m) { ended(self, m); },
  };
}

} // namespace

scope_maker real_scopes() {
  return [](caf::scheduled_actor& above, const supervisor_actor& supervisor) {
    return spawn_scope(above, supervisor, spawn_agent_actor);
  };
}

supervisor_actor spawn_supervisor(caf::actor_system& system, const controller_actor& core, scope_maker make) {
  return system.spawn(supervisor_behavior, std::move(make), core.address());
}

} // namespace quell::actors
