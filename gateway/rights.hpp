// Callers and their rights: tokens to callers, the table of SURFACE 10, and the visibility of operations.
#pragma once

#include <optional>

#include "gateway/exchange.hpp"

namespace quell::controller::http {

/// The rights of a role inside its scope (SURFACE 10). `tree`: for a task's token, its operation and everything below.
enum class right : std::uint8_t {
  read,
  cancel,
  cancel_everything,
  create_external,
  converse,
  create_task,
  steer,
  look_at_workers,
  administer
};

/// The table. `converse`: messages and approvals. `steer`: input and window size of a running task, for those who may
/// create tasks.
constexpr bool may(role who, right what) {
  switch (what) {
  case right::read:
    return true;
  case right::look_at_workers:
    return who != role::task;
  case right::cancel:
    return who != role::observer;
  case right::create_external:
    return who != role::observer;
  case right::converse:
    return who != role::observer && who != role::task;
  case right::create_task:
  case right::steer:
    return who == role::operator_ || who == role::admin || who == role::task;
  case right::cancel_everything:
    return who == role::operator_ || who == role::admin;
  case right::administer:
    return who == role::admin;
  }
  return false;
}

/// Sets `x.who` from the Authorization header. Throws `unauthenticated`.
awaitable<> authenticate(exchange& x);

/// True for the header of a token that is good now, but for that of a task. For what is decided before the request is
/// whole.
bool has_known_token(gateway_context& gw, std::string_view authorization);

/// Throws `forbidden` with the missing right.
void need(const exchange& x, right what);
/// Administration of the whole cluster: an admin without a scope. Throws `forbidden`.
void need_whole_cluster(const exchange& x);
/// Throws `scope_forbidden` if a scope that the request names lies outside the token's.
void need_scope(const exchange& x, const scope_path& named);
/// Throws `bad_scope`, with the place in the request, if the scope is one of quell's own.
void need_unreserved(const scope_path& named, const char* pointer = "/scope");
/// Throws `forbidden` if the role may not act for others.
void need_to_act_for_others(const exchange& x, std::string_view field);

/// True if the caller sees this operation, as far as that needs no read: false for every task's token.
bool sees_at_once(const exchange& x, const records::operation_record& row);
/// True if the caller sees this operation: it is inside the token's scope, and for a task's token it is the task or
/// below it.
awaitable<bool> sees(exchange& x, records::operation_record row);
/// The row of `id` if it exists and the caller sees it. Throws `operation_not_found`.
awaitable<records::operation_record> visible_row(exchange& x, operation_id id);
/// True if the caller sees this cancel: its target is inside the token's scope, and for a task's token it is the task
/// or below it.
awaitable<bool> sees(exchange& x, records::cancel_record cancel);

problem no_such_operation(const operation_id& id);

} // namespace quell::controller::http
