// Enums are stored in the database as small numbers. This file pins each number to its name, so that no edit of a list
// changes the meaning of old rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "controller/records/history.hpp"
#include "protocol/vocabulary.hpp"
#include "storage/record_names.hpp"

namespace quell::storage {

template <class Enum>
constexpr std::int64_t code_of(Enum value) {
  return static_cast<std::int64_t>(value);
}

/// Returns nullopt for a number that has no enumerator.
template <class Enum>
constexpr std::optional<Enum> from_code(std::int64_t code) {
  if (code < 0 || code >= static_cast<std::int64_t>(count_of<Enum>())) return std::nullopt;
  return static_cast<Enum>(code);
}

namespace code_checks {
/// True if the enum's list begins with `names`: values may be appended, never moved.
template <class Enum, std::size_t N>
constexpr bool begins_with(const std::string_view (&names)[N]) {
  if (count_of<Enum>() < N) return false;
  for (std::size_t i = 0; i < N; ++i)
    if (names_of<Enum>::list[i] != names[i]) return false;
  return true;
}
static_assert(begins_with<kind>({"turn", "model_call", "tool_call", "sub_agent", "task", "exchange", "external"}));
static_assert(begins_with<status>({"pending", "running", "paused", "cancelling", "completed", "failed", "cancelled"}));
static_assert(begins_with<receipt>({"cooperative", "terminated", "killed", "never_started", "already_finished",
                                    "unconfirmed", "declared"}));
static_assert(begins_with<proof>({"exit_status", "cgroup_empty", "pidns_gone", "group_empty", "lease_expired",
                                  "never_ran", "connection_closed", "internal", "reported", "none"}));
static_assert(begins_with<stop_cause>({"cancel", "parent_ended", "timeout", "superseded", "disconnect", "drain",
                                       "worker_lost", "budget"}));
static_assert(begins_with<on_parent_end>({"cancel", "wait", "detach"}));
static_assert(begins_with<on_leader_exit>({"wait", "kill"}));
static_assert(begins_with<containment>({"group", "pidns", "cgroup", "cgroup+pidns"}));
static_assert(begins_with<cancel_status>({"fenced", "signalled", "settled"}));
static_assert(begins_with<cancel_outcome>({"stopping", "nothing_live", "already_finished", "joined", "unknown_id"}));
static_assert(begins_with<role>({"observer", "chat", "operator", "admin", "task"}));
static_assert(begins_with<message_role>({"user", "assistant", "tool"}));
} // namespace code_checks

} // namespace quell::storage
