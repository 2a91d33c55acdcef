// A gateway thread's means to read and to answer. Each thread has its own, so nothing in it has a lock; what
// all threads share is in `shared_state`.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "gateway/event_hub.hpp"
#include "gateway/external_hub.hpp"
#include "gateway/known_rows.hpp"
#include "gateway/push_port.hpp"
#include "gateway/read_pool.hpp"
#include "gateway/recent.hpp"
#include "gateway/server.hpp"

namespace quell::controller::http {

/// The reason and author of a cancel, fixed by its first request.
struct cancel_words {
  std::string reason;
  records::person by;
};

/// Shared by the threads of the gateway. The parts are thread-safe or do not change once the threads run.
struct shared_state {
  shared_state(gateway_options o, service& s, output_store& out) : options(std::move(o)), controller(s), output(out) {}
  gateway_options options; ///< `server_public_key` belongs to the requests' thread, the rest is fixed
  service& controller;
  output_store& output;
  std::unique_ptr<read_pool> store; ///< set before the threads start
  std::atomic<bool> stopping = false;
  std::shared_ptr<push_port> push; ///< set before the threads start
};

struct thread_context {
  thread_context(std::shared_ptr<shared_state> s, std::shared_ptr<io_context> context, lane rows_from)
      : shared(std::move(s)), options(shared->options), controller(shared->controller), output(shared->output),
        store(shared->store), stopping(shared->stopping), io(std::move(context)), rows(rows_from),
        hub(*io, options.max_lag_events), externals(*io), known(options.changes, options.activity) {}
  thread_context(const thread_context&) = delete;
  thread_context& operator=(const thread_context&) = delete;

  std::shared_ptr<shared_state> shared;
  gateway_options& options;
  service& controller;
  output_store& output;
  std::unique_ptr<read_pool>& store;
  std::atomic<bool>& stopping;
  std::shared_ptr<io_context> io; ///< of this thread
  const lane rows;                ///< where this thread's rows are read
  event_hub hub;                  ///< watchers on this thread
  external_hub externals;
  known_rows known;
  std::atomic<std::size_t> event_streams = 0; ///< on this thread; metrics read it from another
  recent<cancel_id, cancel_words> cancel_reasons{4096};
  recent<operation_id, std::string> titles{16'384};

  /// Waits for an answer of the controller: `call(reply)` calls one method of `controller`.
  template <class T>
  awaitable<T> answer(std::function<void(std::function<void(T)>)> call) {
    return ask<T>(io, std::move(call));
  }
  /// Reads rows by id and output files.
  template <class T>
  awaitable<T> read(std::function<result<T>(store_reader&)> job, lane where = lane::rows) {
    return store->read<T>(io, where == lane::rows ? rows : where, std::move(job));
  }
  /// Reads as much of a list as its time allows.
  template <class T>
  awaitable<list_part<T>> list(list_share whose, std::function<result<std::vector<T>>(store_reader&)> job) {
    return store->list<T>(io, std::move(whose), std::move(job));
  }
};

} // namespace quell::controller::http
