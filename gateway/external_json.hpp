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
std::string heartbeat_json(const operation_id& id, const renewal_answer& answer);
/// For many operations; at most 1000 cancels, the next answer has the others.
std::string heartbeats_json(const renewal_answer& answer);

/// The answer to one item.
struct item_answer {
  unsigned status = 200;
  std::optional<shown_operation> operation;
  std::optional<operation_id> id; ///< instead of the operation, to `Prefer: return=minimal`
  std::optional<problem> error;
};
item_answer refused(problem p);
/// `{"results":[{"status","operation"},{"status","error"}]}`; minimal: `{"status","id"}` for a success.
std::string results_json(const gateway_context& gw, const std::vector<item_answer>& items, const request_id& request);
/// `{"id"}`, with the header that says why the operation is not shown.
response minimal_answer(const operation_id& id, unsigned status);
/// A success to `Prefer: return=minimal`: the operation is not read back.
item_answer named_only(const operation_id& id, unsigned status);
/// Adds the header of an honoured `Prefer: return=minimal`.
response with_preference(response answer);
/// The single form: the operation, or throws its problem.
response item_response(gateway_context& gw, const item_answer& item);

} // namespace quell::controller::http
