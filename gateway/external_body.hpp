// The bodies of requests from owners of external operations: reports, batches of reports, heartbeats.
#pragma once

#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "controller/external_operations.hpp"
#include "gateway/problem.hpp"

namespace quell::controller::http {

/// The list `name`, 1 to 1000 items, the only member of a batch's body.
tl::expected<std::vector<nlohmann::json>, problem> take_batch(nlohmann::json& body, const char* name);

/// The body of …/complete, …/fail, …/stopped; the path names the operation.
tl::expected<owner_report, problem> read_report(owner_word what, const operation_id& id, std::string_view body);
/// `{"items":[{"id","complete":{…}}]}`; a bad item does not affect the others.
tl::expected<std::vector<tl::expected<owner_report, problem>>, problem> read_reports(std::string_view body);
/// `{"ids":[…]}` or `{"session":…}`, or both; `by` is left empty.
tl::expected<renewal_order, problem> read_heartbeat(std::string_view body);

} // namespace quell::controller::http
