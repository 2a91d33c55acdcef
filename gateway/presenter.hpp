// Builds the client's view of committed rows: the live overlay, the reason of the cancel that stops an operation,
// titles in reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/cluster_json.hpp"
#include "gateway/cancel_json.hpp"
#include "gateway/gateway_context.hpp"
#include "gateway/operation_json.hpp"

namespace quell::controller::http {

/// Rows with their overlay. A row whose operation ended since it was read is read again, so that a live status is never
/// stale.
awaitable<std::vector<shown_operation>> present(thread_context& gw, std::vector<records::operation_record> rows);
awaitable<shown_operation> present_one(thread_context& gw, records::operation_record row);
/// The committed row, nullopt if there is none.
awaitable<std::optional<records::operation_record>> find_row(thread_context& gw, operation_id id,
                                                             lane where = lane::rows);
/// The existing ones of these rows, in the order of the ids.
awaitable<std::vector<records::operation_record>> find_rows(thread_context& gw, std::vector<operation_id> ids);
std::string operation_text(const thread_context& gw, const shown_operation& op);
/// True if the text of this operation changes only with its row: it has ended, and nothing else is shown with it.
bool depends_on_row_alone(const shown_operation& op);
/// True if the text of this operation changes only with its row and with the core: it is live, and neither files nor
/// other parts of the program are asked for it.
bool depends_on_core_alone(const shown_operation& op);

/// The present state of a cancel: the controller's view while it is open, else the committed row; nullopt if there is
/// none.
awaitable<std::optional<cancel_view>> find_cancel(thread_context& gw, cancel_id id, lane where = lane::rows);
/// A settled (or otherwise committed) cancel as a view.
cancel_view view_of_row(records::cancel_record row);
/// Fills in the titles of the first `most` of `unproven`.
awaitable<> fill_titles(thread_context& gw, cancel_view& view, std::size_t most);
awaitable<std::string> cancel_text(thread_context& gw, cancel_view view, std::size_t most_unproven);

/// The JSON of events, built once for all watchers: operations and cancels in their present state, the status of an end
/// as the event has it.
awaitable<std::vector<rendered_event>> render_events(thread_context& gw, std::vector<records::event_record> events);
/// The same with the rows of `operations_of(events)`, as far as they exist.
awaitable<std::vector<rendered_event>> render_events(thread_context& gw, std::vector<records::event_record> events,
                                                     std::vector<records::operation_record> rows);
/// The operations that these events show, each once.
std::vector<operation_id> operations_of(const std::vector<records::event_record>& events);

inline constexpr std::size_t max_unproven_listed = 100;

} // namespace quell::controller::http
