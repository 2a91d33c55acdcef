// What all handlers share. Belongs to the io thread, except where said.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "controller/gateway/event_hub.hpp"
#include "controller/gateway/external_hub.hpp"
#include "controller/gateway/metrics_book.hpp"
#include "controller/gateway/recent.hpp"
#include "controller/gateway/server.hpp"
#include "controller/gateway/store_reader.hpp"
#include "controller/gateway/tokens.hpp"
#include "controller/peer_budget.hpp"

namespace quell::controller::http {

/// Why and by whom a cancel was ordered; fixed with its first request.
struct cancel_words {
  std::string reason;
  storage::person by;
};

/// What a task's token needs to know of its operation; never changes.
struct task_owner {
  storage::person owner;
  scope_path scope;
};

struct core {
  core(gateway_options o, service& s, output_store& out, std::shared_ptr<io_context> context)
      : options(std::move(o)), controller(s), output(out), io(std::move(context)), hub(*io, options.max_lag_events),
        externals(*io), rates({2 * options.requests_per_second, options.requests_per_second}) {}

  gateway_options options;
  service& controller;
  output_store& output;
  std::shared_ptr<io_context> io;
  std::unique_ptr<store_reader> store;
  token_book tokens;
  std::string admin_hash; ///< of the bootstrap token; "" = none
  event_hub hub;
  external_hub externals;
  metrics_book metrics;
  peer_budgets rates; ///< requests, by token
  recent<cancel_id, cancel_words> cancel_reasons{4096};
  recent<operation_id, std::string> titles{16'384};
  recent<operation_id, task_owner> task_owners{4096};
  std::size_t connections = 0, event_streams = 0, turned_away = 0;
  bool stopping = false;
  /// A connection from which no whole request has come yet.
  struct unread_connection {
    std::chrono::steady_clock::time_point since;
    std::function<void()> close;
  };
  std::map<std::uint64_t, unread_connection> unread; ///< the longest waiting first
  std::uint64_t next_unread = 1;
  /// Makes room for a new connection: nobody who only waits may keep somebody else out. False if all are at work, or
  /// have waited for less than `at_least`.
  bool drop_longest_waiting(std::chrono::steady_clock::duration at_least = {}) {
    if (unread.empty() || std::chrono::steady_clock::now() - unread.begin()->second.since < at_least) return false;
    const auto close = std::move(unread.begin()->second.close);
    unread.erase(unread.begin());
    close();
    return true;
  }

  /// An answer of the controller: `call(reply)` calls one method of `controller`.
  template <class T>
  awaitable<T> answer(std::function<void(std::function<void(T)>)> call) {
    return ask<T>(io, std::move(call));
  }
  template <class T>
  awaitable<T> read(std::function<result<T>(storage::queries&)> job) {
    return store->read<T>(std::move(job));
  }
};

} // namespace quell::controller::http
