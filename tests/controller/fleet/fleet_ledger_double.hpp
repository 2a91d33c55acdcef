// A small ledger for the fleet's tests: it really keeps pending and sent tasks and records the fleet's reports.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/ledger.hpp"

namespace quell::controller::test {

struct ledger_double final : ledger {
  struct task {
    requirement need;
    std::optional<std::string> worker;
    bool pending = true, live = true;
    std::optional<milliseconds> lease;
    std::string what, detail;
    int noted = 0;
  };
  struct reconciled_entry {
    std::string worker;
    wire::hello greeting;
    bool same_life;
  };

  std::map<operation_id, task> tasks;
  std::map<std::string, std::uint32_t> used;
  std::map<std::string, std::uint64_t> live;
  std::uint32_t most_per_guild = 0;            ///< 0 = no limit
  std::map<std::uint16_t, std::uint32_t> held; ///< slots, by the guild's line
  std::uint64_t room = 0, moves = 0;
  std::vector<records::event_record> events;
  std::vector<reconciled_entry> reconciled;
  std::vector<std::pair<std::string, std::uint64_t>> applied;
  std::vector<std::string> reports, reachability_news;
  std::vector<std::pair<std::string, stop_cause>> stopped_workers;
  std::vector<std::pair<operation_id, std::string>> expired;
  std::uint64_t seq = 1000;
  std::uint64_t placeable_checks = 0, lease_questions = 0;

  operation_id add(const requirement& need, operation_id id, std::optional<milliseconds> lease = {}) {
    tasks[id] = {need, {}, true, true, lease, {}, {}, 0};
    return id;
  }
  /// The task has ended, with proof; its slots are free.
  std::optional<std::string> finish(const operation_id& id) {
    task& t = tasks.at(id);
    if (!t.live) return {};
    t.live = t.pending = false;
    if (!t.worker) return {};
    used[*t.worker] -= t.need.slots;
    held[t.need.guild_queue] -= t.need.slots;
    ++room;
    live[*t.worker] -= 1;
    return t.worker;
  }

  void ask_reachability(std::function<reachability(const std::string&)>) override {}
  ledger_effects take() override { return {}; }
  bool step(moment) override { return false; }
  bool step_briefly(moment) override { return false; }
  std::optional<boot_time> tick(moment) override { return {}; }
  outcome<created> create(const create_order&, operation_id, moment) override { throw std::logic_error("not played"); }
  outcome<cancel_view> cancel(const cancel_order&, cancel_id, moment) override { throw std::logic_error("not played"); }
  void cancel_fenced(const cancel_id&, bool, moment) override { throw std::logic_error("not played"); }
  outcome<operation_id> declare_dead(const operation_id&, const std::string&, const caller&, moment) override {
    throw std::logic_error("not played");
  }
  std::size_t declare_worker_dead(const std::string&, const std::string&, moment) override {
    throw std::logic_error("not played");
  }
  std::size_t stop_worker(const std::string& worker, stop_cause cause, moment) override {
    stopped_workers.emplace_back(worker, cause);
    return 0;
  }
  std::size_t stop_worker_for(const std::string& worker, stop_cause cause, const stop_words&, moment now) override {
    return stop_worker(worker, cause, now);
  }
  void stop_forbidden(const forbidden_move&, moment) override { throw std::logic_error("not played"); }
  local_operations* actors() override { return nullptr; }
  external_operations* externals() override { return nullptr; }
  model_costs* costs() override { return nullptr; }
  std::optional<std::string> why_day_is_used_up(const scope_path&, const std::string&, moment) const override {
    return {};
  }
  tree_page branches(const tree_question&) const override { return {}; }
  std::map<std::pair<std::string, std::string>, std::uint64_t> live_by_kind() const override { return {}; }
  void forget(const std::vector<operation_id>&, const std::vector<cancel_id>&) override {}
  std::optional<wire::start> assign(const operation_id& id, const std::string& worker, moment) override {
    task& t = tasks.at(id);
    if (!t.pending) return {};
    t.pending = false;
    t.worker = worker;
    used[worker] += t.need.slots;
    held[t.need.guild_queue] += t.need.slots;
    live[worker] += 1;
    wire::start s;
    s.operation = id;
    s.seq = s.as_of = ++seq;
    return s;
  }
  bool is_placeable(const operation_id& id) const override {
    ++const_cast<ledger_double*>(this)->placeable_checks;
    return tasks.at(id).pending;
  }
  bool may_take_slots(const operation_id& id) override {
    const task& t = tasks.at(id);
    const auto has = held[t.need.guild_queue];
    return most_per_guild == 0 || t.need.slots == 0 || has == 0 || has + t.need.slots <= most_per_guild;
  }
  std::uint64_t guild_room() const override { return room; }
  void limit_slots(slots_by_guild) override { throw std::logic_error("not played"); }
  std::uint64_t moves_of_lines() const override { return moves; }
  const requirement* need_of(const operation_id& id) const override {
    const task& t = tasks.at(id);
    return t.pending ? &t.need : nullptr;
  }
  void note_waiting(const operation_id& id, std::string what, std::string detail, moment) override {
    task& t = tasks.at(id);
    t.what = std::move(what);
    t.detail = std::move(detail);
    ++t.noted;
  }
  void started(const std::string& worker, const wire::task_started&, moment) override {
    reports.push_back(worker + " started");
  }
  void stopping(const std::string& worker, const wire::task_stopping&, moment) override {
    reports.push_back(worker + " stopping");
  }
  void ended(const std::string& worker, const wire::task_ended& m, moment) override {
    reports.push_back(worker + " ended");
    if (tasks.count(m.operation)) finish(m.operation);
  }
  void unproven(const std::string& worker, const wire::task_unproven&, moment) override {
    reports.push_back(worker + " unproven");
  }
  void stop_applied(const std::string& worker, std::uint64_t stop_seq, moment) override {
    applied.emplace_back(worker, stop_seq);
  }
  void reconcile(const std::string& worker, const wire::hello& h, bool same_life, moment) override {
    reconciled.push_back({worker, h, same_life});
  }
  void reachability_changed(const std::string& worker, moment) override { reachability_news.push_back(worker); }
  std::optional<boot_time> lease_expired(const std::string& worker,
                                         const std::function<boot_time(std::optional<milliseconds>)>& dead_by,
                                         moment now) override {
    ++lease_questions;
    std::optional<boot_time> next;
    for (auto& [id, t] : tasks) {
      if (!t.live || t.worker != worker) continue;
      const auto due = dead_by(t.lease);
      if (due <= now.boot) {
        finish(id);
        expired.emplace_back(id, worker);
      } else {
        next = next ? std::min(*next, due) : due;
      }
    }
    return next;
  }
  void output_counts(const operation_id&, const quell::output_counts&) override {}
  std::optional<live_view> view(const operation_id&, moment) const override { return {}; }
  std::optional<cancel_view> view_cancel(const cancel_id&, moment) const override { return {}; }
  std::vector<cancel_view> open_cancels(moment) const override { return {}; }
  open_cancel_summary summary_of_open_cancels() const override { return {}; }
  std::vector<scope_view> scopes(const std::optional<scope_path>&, listed_scopes, const scope_path*,
                                 std::size_t) const override {
    return {};
  }
  bool visible(const operation_id&, const caller&) const override { return true; }
  std::uint64_t last_seq() const override { return seq; }
  std::map<std::string, std::uint64_t> live_by_status() const override { return {}; }
  std::size_t live_count() const override { return 0; }
  std::uint32_t slots_on(const std::string& worker) const override {
    const auto found = used.find(worker);
    return found == used.end() ? 0 : found->second;
  }
  std::uint64_t live_on(const std::string& worker) const override {
    const auto found = live.find(worker);
    return found == live.end() ? 0 : found->second;
  }
  void add_event(records::event_record e, moment) override { events.push_back(std::move(e)); }

  std::vector<std::string> event_types() const {
    std::vector<std::string> types;
    for (const auto& e : events) types.emplace_back(text_of(e));
    return types;
  }
};

} // namespace quell::controller::test
