// State shared by all handlers. Belongs to the io thread, except where noted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "gateway/connection_table.hpp"
#include "gateway/event_hub.hpp"
#include "gateway/external_hub.hpp"
#include "gateway/metric_counts.hpp"
#include "gateway/read_pool.hpp"
#include "gateway/recent.hpp"
#include "gateway/server.hpp"
#include "gateway/sign_ins.hpp"
#include "gateway/tokens.hpp"
#include "protocol/peer_budget.hpp"

namespace quell::controller::http {

/// The reason and author of a cancel, fixed by its first request.
struct cancel_words {
  std::string reason;
  records::person by;
};

/// The facts about its operation that a task's token needs; they never change.
struct task_owner {
  records::person owner;
  scope_path scope;
};

/// Connections beyond the limit on which only cancels are answered.
inline constexpr std::size_t reserved_connections = 64;

struct token_watch; // guarded_stream.cpp

struct gateway_context {
  gateway_context(gateway_options o, service& s, output_store& out, std::shared_ptr<io_context> context)
      : options(std::move(o)), controller(s), output(out), io(std::move(context)), hub(*io, options.max_lag_events),
        externals(*io), rates({2 * options.requests_per_second, options.requests_per_second}),
        bytes({options.bytes_per_day, options.bytes_per_day / 86'400}),
        connections(options.max_connections, reserved_connections) {}

  gateway_options options;
  service& controller;
  output_store& output;
  std::shared_ptr<io_context> io;
  std::unique_ptr<read_pool> store;
  token_table tokens;
  std::string admin_hash; ///< of the bootstrap token; "" = none
  sign_in_book sign_ins;  ///< of browsers
  std::uint64_t sign_in_changes = 0;
  std::shared_ptr<sign_in_file> sign_in_writes = std::make_shared<sign_in_file>();
  event_hub hub;
  external_hub externals;
  metric_counts metrics;
  peer_budgets rates; ///< requests, by token
  peer_budgets bytes; ///< of bodies, by token
  recent<cancel_id, cancel_words> cancel_reasons{4096};
  recent<operation_id, std::string> titles{16'384};
  recent<operation_id, task_owner> task_owners{4096};
  connection_table connections;
  std::size_t event_streams = 0;
  std::unordered_map<std::string, std::size_t> held; ///< streams and long polls by token; no zeros
  std::unordered_map<std::string, std::shared_ptr<token_watch>> watched_tokens; ///< those with streams
  bool stopping = false;

  /// Waits for an answer of the controller: `call(reply)` calls one method of `controller`.
  template <class T>
  awaitable<T> answer(std::function<void(std::function<void(T)>)> call) {
    return ask<T>(io, std::move(call));
  }
  /// Reads rows by id and output files. Lists have their own threads: `exchange::list`.
  template <class T>
  awaitable<T> read(std::function<result<T>(store_reader&)> job, lane where = lane::rows) {
    return store->read<T>(where, std::move(job));
  }
};

} // namespace quell::controller::http
