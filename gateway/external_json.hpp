// JSON for owners of external operations: signals, answers to heartbeats, results of batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/external_operations.hpp"
#include "controller/json/json_writer.hpp"
#include "gateway/exchange.hpp"
#include "gateway/presenter.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

/// `{"operation","kind","name","labels","cancel":{…},"grace_ms","kill_at"}`
void write_signal(json_writer& to, const external_signal& s);
std::string signal_json(const external_signal& s);
/// As the SSE event `cancel`.
std::string signal_frame(const external_signal& s);
/// For one operation: its lease, and its stop if there is one.
std::string heartbeat_json(const operation_id& id, const heartbeat_answer& answer);
/// For many operations; at most 1000 cancels, the next answer has the others.
std::string heartbeats_json(const heartbeat_answer& answer);

/// The answer to one item.
struct item_answer {
  unsigned status = 200;
  std::optional<shown_operation> operation;
  std::optional<problem> error;
};
item_answer refused(problem p);
/// `{"results":[{"status","operation"},{"status","error"}]}`
std::string results_json(const gateway_context& gw, const std::vector<item_answer>& items, const request_id& request);
/// The single form: the operation, or throws its problem.
response item_response(gateway_context& gw, const item_answer& item);

} // namespace quell::controller::http
