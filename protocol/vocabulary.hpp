// The terms of DESIGN.md section 2 as enums, each with its wire and JSON name. Each enum has one list, from which its
// names and its parser come.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace quell {

enum class kind : std::uint8_t { turn, model_call, tool_call, sub_agent, task, exchange, external };
enum class status : std::uint8_t { pending, running, paused, cancelling, completed, failed, cancelled };
/// The end of one stopped leaf (DESIGN 2, SURFACE 3).
enum class receipt : std::uint8_t {
  cooperative,
  terminated,
  killed,
  never_started,
  already_finished,
  unconfirmed,
  declared
};
/// The evidence that a leaf is gone.
enum class proof : std::uint8_t {
  exit_status,
  cgroup_empty,
  pidns_gone,
  group_empty,
  lease_expired,
  never_ran,
  connection_closed,
  internal,
  reported,
  none
};
/// Why an operation is being stopped.
enum class stop_cause : std::uint8_t {
  cancel,
  parent_ended,
  timeout,
  superseded,
  disconnect,
  drain,
  worker_lost,
  budget
};
enum class on_parent_end : std::uint8_t { cancel, wait, detach };
enum class on_leader_exit : std::uint8_t { wait, kill };
/// Levels of containment; compare with `at_least`, never with `<`.
enum class containment : std::uint8_t { group, pidns, cgroup, cgroup_pidns };
enum class cancel_status : std::uint8_t { fenced, signalled, settled };
enum class cancel_outcome : std::uint8_t { stopping, nothing_live, already_finished, joined, unknown_id };
/// The reason why a covered operation is not proven dead yet.
enum class unproven_why : std::uint8_t {
  signal_in_flight,
  in_grace,
  kill_in_flight,
  stuck_in_kernel,
  no_permission,
  worker_unreachable,
  awaiting_owner
};
enum class next_action : std::uint8_t { signal, kill, kill_again, lease_expiry, settle_unconfirmed, resolve };
enum class worker_status : std::uint8_t { enrolled, ready, draining, unreachable, lost };
enum class role : std::uint8_t { observer, chat, operator_, admin, task };
enum class stream : std::uint8_t { out, err };

/// Enumerator and name pairs; specialised per enum below, in enumerator order.
template <class Enum>
struct names_of;

#define QUELL_NAMES(Enum, ...)                                                                                         \
  template <>                                                                                                          \
  struct names_of<Enum> {                                                                                              \
    static constexpr auto list = std::to_array<std::string_view>({__VA_ARGS__});                                       \
  }

QUELL_NAMES(kind, "turn", "model_call", "tool_call", "sub_agent", "task", "exchange", "external");
QUELL_NAMES(status, "pending", "running", "paused", "cancelling", "completed", "failed", "cancelled");
QUELL_NAMES(receipt, "cooperative", "terminated", "killed", "never_started", "already_finished", "unconfirmed",
            "declared");
QUELL_NAMES(proof, "exit_status", "cgroup_empty", "pidns_gone", "group_empty", "lease_expired", "never_ran",
            "connection_closed", "internal", "reported", "none");
QUELL_NAMES(stop_cause, "cancel", "parent_ended", "timeout", "superseded", "disconnect", "drain", "worker_lost",
            "budget");
QUELL_NAMES(on_parent_end, "cancel", "wait", "detach");
QUELL_NAMES(on_leader_exit, "wait", "kill");
QUELL_NAMES(containment, "group", "pidns", "cgroup", "cgroup+pidns");
QUELL_NAMES(cancel_status, "fenced", "signalled", "settled");
QUELL_NAMES(cancel_outcome, "stopping", "nothing_live", "already_finished", "joined", "unknown_id");
QUELL_NAMES(unproven_why, "signal_in_flight", "in_grace", "kill_in_flight", "stuck_in_kernel", "no_permission",
            "worker_unreachable", "awaiting_owner");
QUELL_NAMES(next_action, "signal", "kill", "kill_again", "lease_expiry", "settle_unconfirmed", "resolve");
QUELL_NAMES(worker_status, "enrolled", "ready", "draining", "unreachable", "lost");
QUELL_NAMES(role, "observer", "chat", "operator", "admin", "task");
QUELL_NAMES(stream, "stdout", "stderr");

#undef QUELL_NAMES

template <class Enum>
constexpr std::size_t count_of() {
  return names_of<Enum>::list.size();
}

/// The wire and JSON name. `value` must be an enumerator.
template <class Enum>
constexpr std::string_view name_of(Enum value) {
  return names_of<Enum>::list[static_cast<std::size_t>(value)];
}

/// The enumerator called `name`, or nullopt.
template <class Enum>
constexpr std::optional<Enum> parse_name(std::string_view name) {
  for (std::size_t i = 0; i < count_of<Enum>(); ++i)
    if (names_of<Enum>::list[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

constexpr bool is_terminal(status s) { return s == status::completed || s == status::failed || s == status::cancelled; }

/// True if a worker at level `have` satisfies a task that asks for at least `least`. `cgroup` and `pidns` do not imply
/// each other.
constexpr bool at_least(containment have, containment least) {
  const bool cgroup = have == containment::cgroup || have == containment::cgroup_pidns;
  const bool pidns = have == containment::pidns || have == containment::cgroup_pidns;
  switch (least) {
  case containment::group:
    return true;
  case containment::pidns:
    return pidns;
  case containment::cgroup:
    return cgroup;
  case containment::cgroup_pidns:
    return cgroup && pidns;
  }
  return false;
}

} // namespace quell
