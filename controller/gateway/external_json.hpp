// What owners of external operations get to read: signals, answers to heartbeats, results of batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/external_books.hpp"
#include "controller/gateway/exchange.hpp"
#include "controller/gateway/json_writer.hpp"
#include "controller/gateway/presenter.hpp"
#include "controller/gateway/problem.hpp"

namespace quell::controller::http {

/// `{"operation","kind","name","labels","cancel":{…},"grace_ms","kill_at"}`
void write_signal(json_writer& to, const external_signal& s);
std::string signal_json(const external_signal& s);
/// As the SSE event `cancel`.
std::string signal_frame(const external_signal& s);
/// Of one operation: its lease, and the stop if there is one.
std::string heartbeat_json(const operation_id& id, const heartbeat_answer& answer);
/// Of many; at most 1000 cancels, the rest comes with the next.
std::string heartbeats_json(const heartbeat_answer& answer);

/// One item's own answer.
struct item_answer {
  unsigned status = 200;
  std::optional<shown_operation> operation;
  std::optional<problem> error;
};
item_answer refused(problem p);
/// `{"results":[{"status","operation"},{"status","error"}]}`
std::string results_json(const core& gw, const std::vector<item_answer>& items, const request_id& request);
/// The single form: the operation, or its problem thrown.
response item_response(core& gw, const item_answer& item);

} // namespace quell::controller::http
