// The sections [defaults] and [limits] of the configuration and the accepted host names, in the form that the ledger
// and the gateway take.
#pragma once

#include "controller/config.hpp"
#include "controller/gateway/head_check.hpp"
#include "controller/gateway/server.hpp"
#include "controller/ledger.hpp"

namespace quell::controller {

inline void set_limits(ledger_settings& of, const config& from) {
  of.default_grace = from.defaults_grace;
  of.min_containment = from.defaults_min_containment;
  of.tombstone_keep = from.defaults_tombstones;
  of.max_live_operations = from.limits_operations;
  of.max_live_per_author = from.limits_operations_per_author;
  of.max_live_per_scope = from.limits_operations_per_scope;
  of.max_turns_per_author = from.limits_turns_per_author;
}

inline void set_limits(gateway_options& of, const config& from) {
  of.default_scope = scope_path::parse(from.defaults_scope).value_or(scope_path{});
  of.default_timeout = from.defaults_timeout;
  of.max_connections = from.limits_connections;
  of.requests_per_second = static_cast<double>(from.limits_requests_per_second);
  of.bytes_per_day = static_cast<double>(from.limits_bytes_per_day);
  of.streams_per_token = from.limits_streams_per_token;
  for (const auto& name : own_hosts(from)) of.hosts.push_back(http::host_name(name));
}

} // namespace quell::controller
