// A task table with a guardian that the test plays, in terms of starts, stops, holds and ends. Time is passed in.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "worker/task_table.hpp"

namespace quell::test {

struct table_fixture {
  using force = worker::task_ended_here::force;

  worker_lease lease;
  worker::task_table table;
  moment now{wall_time{milliseconds{1'000'000}}, boot_time{1'000'000'000}};
  std::map<std::string, operation_id> ids;
  std::vector<wire::message> messages;
  std::vector<worker::stop_request> stops;
  std::vector<operation_id> spawned, gone, hung_up, finishing, looked;
  bool guardian_gives_go = true;

  explicit table_fixture(worker::task_table::settings s = {}) : table(s, lease) {
    lease.welcomed(now.boot, std::chrono::seconds{10});
  }

  operation_id id(const std::string& name) {
    const auto [it, fresh] = ids.try_emplace(name);
    if (fresh) {
      it->second.bytes[6] = 0x70;
      it->second.bytes[15] = static_cast<std::uint8_t>(ids.size());
      it->second.bytes[14] = static_cast<std::uint8_t>(ids.size() >> 8);
    }
    return it->second;
  }
  void pass(std::chrono::milliseconds time) {
    now.boot = now.boot + time;
    now.wall += time;
  }

  void perform(worker::effects list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto e = std::move(list[i]);
      if (auto* t = std::get_if<worker::tell>(&e))
        messages.push_back(t->body);
      else if (auto* g = std::get_if<worker::let_go>(&e)) {
        if (guardian_gives_go) gone.push_back(g->operation);
        table.go_result(g->operation, guardian_gives_go, now);
      } else if (auto* s = std::get_if<worker::spawn_task>(&e))
        spawned.push_back(s->order.operation);
      else if (auto* x = std::get_if<worker::stop_request>(&e))
        stops.push_back(*x);
      else if (auto* h = std::get_if<worker::hang_up>(&e))
        hung_up.push_back(h->operation);
      else if (auto* f = std::get_if<worker::finish_output>(&e))
        finishing.push_back(f->operation);
      else if (auto* l = std::get_if<worker::look_at>(&e))
        looked.push_back(l->operation);
    }
  }

  wire::start order(const std::string& name, std::uint64_t as_of, const std::string& scope = "team/build",
                    const std::vector<std::string>& ancestors = {}) {
    wire::start s;
    s.operation = s.root = id(name);
    s.seq = s.as_of = as_of;
    s.scope = *scope_path::parse(scope);
    for (const auto& a : ancestors) s.ancestors.push_back(id(a));
    s.spec.command = {"true"};
    return s;
  }
  void start_arrives(wire::start s) {
    worker::effects list;
    table.start(std::move(s), now, list);
    perform(std::move(list));
    pump();
  }
  void start_arrives(const std::string& name, std::uint64_t as_of, const std::string& scope = "team/build",
                     const std::vector<std::string>& ancestors = {}) {
    start_arrives(order(name, as_of, scope, ancestors));
  }
  void pump() {
    worker::effects list;
    table.pump(now, 100, list);
    perform(std::move(list));
  }
  void hears(const worker::guardian_event& e) {
    worker::effects list;
    table.hear(e, now, list);
    perform(std::move(list));
  }
  void held(const std::string& name) { hears(worker::task_held{id(name), 4242}); }
  void executes(const std::string& name) { hears(worker::task_executing{id(name)}); }
  void runs(const std::string& name, std::uint64_t as_of, const std::string& scope = "team/build",
            const std::vector<std::string>& ancestors = {}) {
    start_arrives(name, as_of, scope, ancestors);
    held(name);
    executes(name);
  }
  void dies(const std::string& name, exit_state exit = {0, std::nullopt}, force sent = force::nothing) {
    hears(worker::task_leader_exited{id(name), exit});
    hears(worker::task_ended_here{id(name), exit, sent, proof::cgroup_empty});
    output_read(name);
  }
  void output_read(const std::string& name, output_counts counts = {}) {
    worker::effects list;
    table.output_finished(id(name), counts, now, list);
    perform(std::move(list));
    pump();
  }
  void stop_applied(wire::stop s) {
    worker::effects list;
    table.stop(s, now, list);
    perform(std::move(list));
  }
  void scope_stopped(const std::string& scope, std::uint64_t seq, std::optional<milliseconds> grace = std::nullopt) {
    wire::stop s;
    s.seq = s.cutoff = seq;
    s.scope = *scope_path::parse(scope);
    s.grace = grace;
    stop_applied(s);
  }
  void operation_stopped(const std::string& name, std::uint64_t seq, std::optional<milliseconds> grace = std::nullopt) {
    wire::stop s;
    s.seq = seq;
    s.operations = {id(name)};
    s.grace = grace;
    stop_applied(s);
  }
  void stored(const std::string& name) { table.results_stored({{id(name)}}); }

  wire::hello hello() {
    wire::hello h;
    table.describe(h);
    return h;
  }
  const wire::task_ended* end_of(const std::string& name) {
    for (const auto& m : messages)
      if (const auto* e = std::get_if<wire::task_ended>(&m); e && e->operation == id(name)) return e;
    return nullptr;
  }
  std::size_t end_reports(const std::string& name) {
    return static_cast<std::size_t>(std::count_if(messages.begin(), messages.end(), [&](const auto& m) {
      const auto* e = std::get_if<wire::task_ended>(&m);
      return e && e->operation == id(name);
    }));
  }
  bool was_let_go(const std::string& name) { return std::find(gone.begin(), gone.end(), id(name)) != gone.end(); }
  bool was_spawned(const std::string& name) {
    return std::find(spawned.begin(), spawned.end(), id(name)) != spawned.end();
  }
};

} // namespace quell::test
