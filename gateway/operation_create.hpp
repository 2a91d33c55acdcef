// The steps of a create that the single form and the batch share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gateway/exchange.hpp"
#include "gateway/presenter.hpp"

namespace quell::controller::http {

/// The store's knowledge of ids that clients chose.
struct known_ids {
  std::map<operation_id, records::operation_record> operations;
  std::set<operation_id> cancels; ///< those that belong to a cancel
};
awaitable<known_ids> look_up(gateway_context& gw, std::vector<operation_id> ids);

/// Checks rights, ids and references against existing rows and fills in the caller. Throws. Returns the row if the same
/// create was made before.
awaitable<std::optional<records::operation_record>> check_create(exchange& x, create_order& order,
                                                                 const known_ids& known);
/// The problem for a create that the ledger refused.
awaitable<problem> explain_refusal(exchange& x, refusal refused, std::optional<operation_id> parent);

/// A new operation as its commit left it, which needs no read. Nullopt: its row must be read.
std::optional<shown_operation> as_created(created& made);

} // namespace quell::controller::http
