// The core on the real ledger and fleet, with edges that record what leaves and a journal that answers on the test's
// command.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/commands/command_counts.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/drop_old_rows.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commit_gate.hpp"

namespace quell::controller::core_tests {

using namespace std::chrono_literals;

/// Records the core's effects; the journal answers on the test's command.
class recording_edges final : public commit_gate_edges {
 public:
  std::uint64_t tickets = 0;
  std::vector<std::vector<records::entry>> batches;
  std::vector<wire::message> sent;
  std::vector<std::string> published;
  std::map<operation_id, int> ends;
  std::vector<operation_id> signalled;                        ///< of this process, and external ones
  std::vector<external_signal> owner_signals;                 ///< of external operations
  std::vector<std::pair<operation_id, std::string>> expected; ///< output, and of which worker
  std::optional<fault> failure;
  bool low = false;
  command_counts counts;
  std::vector<std::string> forbidden; ///< `from>to by WHOM`

  std::uint64_t submit(std::vector<records::entry> batch) override {
    batches.push_back(std::move(batch));
    return ++tickets;
  }
  void send(const outgoing_frame& frame) override { sent.push_back(frame.frame.body); }
  void publish(const records::event_record& event) override {
    published.emplace_back(text_of(event));
    if (ends_operation(event.type) && event.operation) ++ends[*event.operation];
  }
  void allow_keys(std::vector<std::string>) override {}
  void output_expected(const operation_id& id, const std::string& worker) override {
    expected.emplace_back(id, worker);
  }
  void output_closes(const operation_id&) override {}
  bool storage_low() const override { return low; }
  void ticked(moment) override {}
  void command_given(const command& what) override { counts.count(what); }
  void move_forbidden(const forbidden_move& move, std::string_view requested_by) override {
    forbidden.push_back(std::string(move.from) + ">" + std::string(move.to) + " by " + std::string(requested_by));
  }
  void refusal_known(std::uint64_t) override {}
  void output_counted(const operation_id&, const std::string&, const output_counts&) override {}
  void signal(const actor_signal& s) override { signalled.push_back(s.operation); }
  void tell_owner(const external_signal& s) override {
    signalled.push_back(s.operation);
    owner_signals.push_back(s);
  }
  void ended(const ended_operation&) override {}
  void fail_stop(const fault& why) override { failure = why; }

  template <class Message>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(sent.begin(), sent.end(), [](const auto& m) { return std::holds_alternative<Message>(m); }));
  }
};

struct world {
  recording_edges edges;
  moment now{wall_time{1'800'000'000'000ms}, boot_time{1'000'000'000}};
  std::string key = std::string(40, 'a');
  session_id session = session_id::fresh();
  incarnation_id incarnation = incarnation_id::fresh();
  std::unique_ptr<commit_gate> c;
  std::uint64_t worker_number = 0;

  world() {
    records::recovered_state empty;
    empty.cluster = cluster_id::fresh();
    empty.epoch = 1;
    records::worker_record w;
    w.name = "w1";
    w.public_key = key;
    empty.workers.push_back(w);
    commit_gate_settings s;
    s.token_for = [](const operation_id&) { return std::string("qt_test"); };
    c = std::make_unique<commit_gate>(s, std::move(empty), edges, now);
    commit();
  }

  void commit() {
    // Releasing can submit more: repeat until the journal has taken everything.
    for (std::uint64_t done = 0; done != edges.tickets;) {
      done = edges.tickets;
      c->committed({done, {}}, now);
      c->end_burst(now);
    }
  }
  void refuse(std::uint64_t ticket) { c->committed({ticket, fault{"disk_full", "no space left on device", {}}}, now); }

  void worker_joins() {
    wire::hello h;
    h.boot_id = "boot";
    h.state_id = "state";
    h.incarnation = incarnation;
    h.proposed = session;
    h.slots = 4;
    h.level = containment::cgroup_pidns;
    c->frame("route", key, {session, 0, 0, h}, now);
    c->end_burst(now);
  }
  std::optional<outcome<created>> create(const std::string& scope = "a") {
    auto answer = std::make_shared<std::optional<outcome<created>>>();
    create_order o;
    o.by.role = role::admin;
    o.scope = *scope_path::parse(scope);
    o.task.command = {"true"};
    c->execute({commands::create_operation{std::move(o), operation_id::fresh()},
                [answer](outcome<created> a) { *answer = std::move(a); }},
               now);
    created_answer = answer;
    c->end_burst(now);
    return *answer;
  }
  /// The result of dropping a slice of old rows: nullopt = not on disk yet.
  std::optional<bool> drop_old(gives_way_to work = gives_way_to::all_work) {
    auto answer = std::make_shared<std::optional<bool>>();
    commands::drop_old_rows what;
    what.operations = {operation_id::fresh()};
    what.gives_way = work;
    c->execute({std::move(what), [answer](bool done) { *answer = done; }}, now);
    drop_answer = answer;
    return *answer;
  }
  std::shared_ptr<std::optional<bool>> drop_answer;
  void cancel(const std::string& scope = "a") {
    auto answer = std::make_shared<std::optional<outcome<cancel_view>>>();
    cancel_order o;
    o.by_token.role = role::admin;
    o.target = records::target_scope{*scope_path::parse(scope)};
    o.received = now.boot;
    c->execute({commands::order_cancel{std::move(o), cancel_id::fresh()},
                [answer](outcome<cancel_view> a) { *answer = std::move(a); }},
               now);
    cancel_answer = answer;
  }
  std::shared_ptr<std::optional<outcome<created>>> created_answer;
  std::shared_ptr<std::optional<outcome<cancel_view>>> cancel_answer;
};

} // namespace quell::controller::core_tests
