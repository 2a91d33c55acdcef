// The core on the real ledger and fleet, for commands: applied by themselves, or given to the gate.
#pragma once

#include "controller/commands/command.hpp"
#include "tests/controller/commit_gate_world.hpp"

namespace quell::controller::core_tests {

/// A world in which rows of applied commands are kept, and replies are caught.
struct commands_world : world {
  std::vector<records::entry> rows;
  turns::conversations talks; ///< for commands that are applied by themselves

  commands::context with(bool storage_low = false) {
    return {c->operations(), c->workers(), talks, rows, now, storage_low};
  }

  /// Gives the command to the gate; the answer is there once it has left.
  template <class Command>
  std::shared_ptr<std::optional<typename Command::answer>> give(Command what) {
    auto answer = std::make_shared<std::optional<typename Command::answer>>();
    c->execute({std::move(what), [answer](typename Command::answer a) { answer->emplace(std::move(a)); }}, now);
    return answer;
  }
  /// The same, with everything written.
  template <class Command>
  typename Command::answer done(Command what) {
    auto answer = give(std::move(what));
    c->end_burst(now);
    commit();
    return std::move(answer->value());
  }

  static caller admin() {
    caller by;
    by.role = role::admin;
    by.owner.id = by.owner.name = "ada";
    by.token_id = "token-of-ada";
    return by;
  }
  static commands::create_operation task(const std::string& scope = "a") {
    create_order o;
    o.by = admin();
    o.scope = *scope_path::parse(scope);
    o.task.command = {"true"};
    return {std::move(o), operation_id::fresh()};
  }
  static commands::create_operation external(start_when start = start_when::now) {
    auto what = task();
    what.order.kind = kind::external;
    what.order.task = {};
    what.order.external = {60s, "runtime", start};
    return what;
  }
  commands::order_cancel cancel_of(operation_id id) {
    cancel_order o;
    o.by_token = admin();
    o.target = records::target_operation{id};
    o.received = now.boot;
    return {std::move(o), cancel_id::fresh()};
  }
  std::size_t events(const std::string& type) const {
    return static_cast<std::size_t>(std::count(edges.published.begin(), edges.published.end(), type));
  }
};

} // namespace quell::controller::core_tests
