// A ledger with a store that remembers its batches, and workers that report as the test tells them. Uses the terms of
// the domain; time is passed in.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "controller/ledger.hpp"

namespace quell::controller::testing {

scope_path in(const std::string& text);

/// The rows that the batches have left on disk. `apply` also checks the invariants of any history of rows (see
/// `broken`).
struct remembered_store {
  std::map<operation_id, records::operation_record> operations;
  std::map<cancel_id, records::cancel_record> cancels;
  std::map<scope_path, records::cutoff_record> cutoffs;
  std::map<operation_id, records::tombstone_record> tombstones;
  std::vector<records::event_record> events;
  std::map<operation_id, int> terminal_events;
  std::map<operation_id, records::turn_cost_record> turn_costs;
  std::vector<records::cost_record> costs;
  std::uint64_t seq_limit = 1, next_event = 1;
  std::vector<std::string> broken; ///< sentences; empty = every rule held

  void apply(const std::vector<records::entry>& batch);
  records::recovered_state recovered() const;
};
/// The same state, with its live operations in parts, as a large store gives them.
records::recovered_state in_parts(records::recovered_state state);

/// Options of a task in the fixture.
struct task_options {
  std::optional<std::string> below = {}; ///< parent's name
  on_parent_end edge = on_parent_end::cancel;
  std::optional<scope_path> scope = {};
  milliseconds timeout{0};
  std::optional<milliseconds> grace = {};
  std::optional<std::string> supersede = {};
  std::optional<std::uint64_t> as_of = {};
  std::optional<operation_id> id = {};
  std::string fingerprint = {};
  std::string owner = "alice";
  kind what = kind::task;
  std::uint32_t slots = 1;
  std::optional<milliseconds> lease = {};
  caller by = {};
};

class world {
 public:
  explicit world(ledger_settings s = {});

  // ---- orders ----
  outcome<created> try_task(const std::string& name, task_options o);
  operation_id task(const std::string& name, task_options o);
  operation_id task(const std::string& name, const scope_path& scope) { return task(name, {.scope = scope}); }
  operation_id child(const std::string& name, const std::string& parent, on_parent_end edge = on_parent_end::cancel) {
    return task(name, {.below = parent, .edge = edge});
  }
  cancel_order order(records::cancel_target target) const;
  cancel_view cancel(records::cancel_target target);
  cancel_view cancel(cancel_order o);
  outcome<cancel_view> try_cancel(cancel_order o);
  cancel_view cancel_scope(const std::string& scope) { return cancel(records::target_scope{in(scope)}); }
  cancel_view cancel_task(const std::string& name) { return cancel(records::target_operation{id(name)}); }

  // ---- workers ----
  std::optional<wire::start> place(const std::string& name, const std::string& worker);
  void runs(const std::string& name, const std::string& worker); ///< placed and started
  void exits(const std::string& name, int code);                 ///< by itself
  /// Its worker has applied the stop that the ledger names, and the task is gone.
  void dies(const std::string& name, receipt how = receipt::terminated, proof evidence = proof::cgroup_empty);
  void applied(const std::string& worker, const cancel_view& c);
  wire::hello hello() const;

  // ---- time and restarts ----
  void roll_out();           ///< steps until nothing is left to roll out
  void pass(milliseconds d); ///< time goes on, and the clock ticks
  void restart();            ///< from the store, as after kill -9
  void take();               ///< the batch goes to the store, effects are kept below

  // ---- queries ----
  operation_id id(const std::string& name) const { return names.at(name); }
  std::string status_of(const std::string& name) const;
  const records::operation_hot& row(const std::string& name) const { return store.operations.at(id(name)).hot; }
  records::cancel_record report(const cancel_view& c) const;
  std::uint64_t count(const cancel_view& c, receipt r) const;
  std::uint64_t count(const cancel_view& c, proof p) const;
  std::vector<std::string> event_types(const std::string& name) const;
  operation_id next_operation();
  cancel_id next_cancel();

  ledger_settings settings;
  remembered_store store;
  std::unique_ptr<ledger> core;
  moment now;
  std::map<std::string, operation_id> names;
  std::map<std::string, reachability> reach;
  std::vector<std::vector<records::entry>> batches;
  // effects since the last clear
  std::vector<stop_order> stops;
  std::vector<operation_id> placeable, ended;
  std::set<std::uint16_t> lines; ///< of guilds, in which tasks became placeable
  std::vector<actor_signal> signals;
  std::vector<external_signal> owner_signals; ///< owners
  std::vector<std::pair<std::string, std::uint32_t>> freed;
  std::vector<std::pair<std::string, operation_id>> stored;
  std::vector<std::string> forbidden; ///< `from>to`
  bool provokes = false;              ///< forbidden moves are expected

 private:
  void connect();
  std::uint64_t made_ = 0;
};

} // namespace quell::controller::testing
