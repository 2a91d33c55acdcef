// Orders per second of the core: creates and cancels through the commit gate as commands, beside the same orders given
// to the ledger itself. Nothing is stored: the journal takes every batch at once. `bench_orders [ROUNDS]` prints one
// line of JSON, of which `ratio` (gate over ledger, time per order) compares runs on different machines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "controller/commands/command_request.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commit_gate.hpp"

namespace {

using namespace quell;
using namespace quell::controller;

constexpr int orders_per_round = 20'000, orders_per_burst = 100;

class no_edges final : public commit_gate_edges {
 public:
  std::uint64_t tickets = 0;
  std::uint64_t submit(std::vector<records::entry>) override { return ++tickets; }
  void refusal_known(std::uint64_t) override {}
  void send(const outgoing_frame&) override {}
  void publish(const records::event_record&) override {}
  void allow_keys(std::vector<std::string>) override {}
  void output_expected(const operation_id&, const std::string&) override {}
  void output_counted(const operation_id&, const std::string&, const output_counts&) override {}
  void output_closes(const operation_id&) override {}
  void signal(const actor_signal&) override {}
  void tell_owner(const external_signal&) override {}
  void ended(const ended_operation&) override {}
  bool storage_low() const override { return false; }
  void command_given(const command&) override {}
  void move_forbidden(const forbidden_move&, std::string_view) override { std::abort(); }
  void ticked(moment) override {}
  void fail_stop(const fault&) override { std::abort(); }
};

moment start_of_time() { return {wall_time{milliseconds{1'800'000'000'000}}, boot_time{1'000'000'000}}; }

create_order order_number(int i) {
  create_order o;
  o.by.role = role::admin;
  o.by.token_id = "bench";
  o.scope = *scope_path::parse("bench/s" + std::to_string(i % 100));
  o.task.command = {"true"};
  return o;
}

cancel_order cancel_of_all(moment now) {
  cancel_order o;
  o.by_token.role = role::admin;
  o.target = records::target_scope{*scope_path::parse("bench")};
  o.received = now.boot;
  return o;
}

/// Seconds for one round.
template <class Round>
double timed(const Round& round) {
  const auto begin = std::chrono::steady_clock::now();
  round();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double by_ledger(const std::vector<create_order>& orders) {
  const auto now = start_of_time();
  const auto core = ledger::make({}, {}, now);
  return timed([&] {
    std::vector<ledger_effects> kept;
    for (int i = 0; i < orders_per_round; ++i) {
      if (!core->create(orders[static_cast<std::size_t>(i)], operation_id::fresh(), now)) std::abort();
      kept.push_back(core->take());
      if (i % orders_per_burst == 0) kept.clear();
    }
    const auto cancel = core->cancel(cancel_of_all(now), cancel_id::fresh(), now);
    core->cancel_fenced(cancel->record.id, true, now);
    while (core->step(now)) core->take();
  });
}

double by_gate(const std::vector<create_order>& orders) {
  const auto now = start_of_time();
  no_edges edges;
  commit_gate gate({}, {}, edges, now);
  int answered = 0;
  const auto time = timed([&] {
    for (int i = 0; i < orders_per_round; ++i) {
      gate.execute({commands::create_operation{orders[static_cast<std::size_t>(i)], operation_id::fresh()},
                    [&](const outcome<created>& made) { answered += made.has_value() ? 1 : 0; }},
                   now);
      if (i % orders_per_burst != 0) continue;
      gate.end_burst(now);
      gate.committed({edges.tickets, {}}, now);
    }
    gate.execute({commands::order_cancel{cancel_of_all(now), cancel_id::fresh()}, {}}, now);
    for (std::uint64_t done = 0; done != edges.tickets || gate.sweeping();) {
      done = edges.tickets;
      gate.committed({done, {}}, now);
      gate.end_burst(now);
    }
  });
  if (answered != orders_per_round) std::abort();
  return time;
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  std::vector<create_order> orders;
  for (int i = 0; i < orders_per_round; ++i) orders.push_back(order_number(i));
  // Alternating, so that a busy machine slows both; the best round of each counts.
  double direct = 1e9, gate = 1e9;
  for (int i = 0; i < rounds; ++i) {
    direct = std::min(direct, by_ledger(orders));
    gate = std::min(gate, by_gate(orders));
  }
  std::printf("{\"orders\": %d, \"ledger_per_s\": %.0f, \"gate_per_s\": %.0f, \"ratio\": %.2f}\n", orders_per_round,
              orders_per_round / direct, orders_per_round / gate, gate / direct);
}
