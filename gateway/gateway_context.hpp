// State of all handlers. Belongs to the requests' thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "gateway/connection_table.hpp"
#include "gateway/metric_counts.hpp"
#include "gateway/sign_ins.hpp"
#include "gateway/thread_context.hpp"
#include "gateway/tokens.hpp"
#include "gateway/turnstile.hpp"
#include "protocol/peer_budget.hpp"

namespace quell::controller::http {

/// The facts about its operation that a task's token needs; they never change.
struct task_owner {
  records::person owner;
  scope_path scope;
  std::string token; ///< the id of the token that it was started with; "" = not known
};

/// Connections beyond the limit on which only cancels are answered.
inline constexpr std::size_t reserved_connections = 64;

struct token_watch; // guarded_stream.cpp
class token_makings;

/// The threads that write streams, so that no number of them delays a request.
enum class stream_kind : std::uint8_t {
  watching, ///< events, output, the audit
  signals   ///< stops for the owners of external operations: a thread of their own, which nothing else delays
};

/// The context of the requests' thread: beside what every thread has, what is decided about callers and connections.
struct gateway_context : thread_context {
  gateway_context(std::shared_ptr<shared_state> state, std::shared_ptr<io_context> context)
      : thread_context(std::move(state), std::move(context), lane::rows),
        rates({2 * options.requests_per_second, options.requests_per_second}),
        connections(options.max_connections, reserved_connections) {}

  /// Of the other threads; valid as long as this context. Other threads use their contexts: from here only `io` and
  /// what is thread-safe.
  std::unique_ptr<thread_context> watching, signals;
  thread_context& thread_of(stream_kind kind) { return kind == stream_kind::signals ? *signals : *watching; }

  token_table tokens;
  std::shared_ptr<token_makings> makings; ///< of tokens; null before the first
  std::string admin_hash;                 ///< of the bootstrap token; "" = none
  sign_in_table sign_ins;                 ///< of browsers
  std::uint64_t sign_in_changes = 0;
  std::shared_ptr<sign_in_file> sign_in_writes = std::make_shared<sign_in_file>();
  metric_counts metrics;
  peer_budgets rates; ///< requests, by token
  recent<operation_id, task_owner> task_owners{4096};
  connection_table connections;
  std::shared_ptr<std::size_t> uploads = std::make_shared<std::size_t>(0); ///< large ones, now; see upload_gate.hpp
  std::shared_ptr<turnstile> big_answers = std::make_shared<turnstile>(*io);
  std::unordered_map<std::string, std::size_t> held; ///< streams and long polls by token; no zeros
  std::unordered_map<std::string, std::shared_ptr<token_watch>> watched_tokens; ///< those with streams
};

} // namespace quell::controller::http
