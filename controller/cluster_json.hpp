// Writes workers, tokens, scopes, the cluster's status and events as in SURFACE 1, 7 and 10.
#pragma once

#include <string>
#include <string_view>

#include "controller/json/json_writer.hpp"
#include "controller/orders.hpp"

namespace quell::controller::http {

void write_worker(json_writer& to, const worker_view& worker);
/// Without the closing brace, so that members can be added (`join`).
void write_worker_open(json_writer& to, const worker_view& worker);
/// Also without the closing brace: the secret goes into the 201 only.
void write_token_open(json_writer& to, const records::token_record& token);
void write_scope(json_writer& to, const scope_view& scope);
/// Also without the closing brace: the gateway adds what it knows of its own surroundings.
void write_status_open(json_writer& to, const cluster_view& cluster, std::string_view version, std::string_view commit,
                       wall_time started_at);
/// The same for a token that may not see the counts of the whole cluster. `inside`: its scope, of which it sees what
/// lives; nullptr: a task's token, which sees no counts. Counts that it may not see are null.
void write_partial_status_open(json_writer& to, const cluster_view& cluster, const scope_view* inside,
                               std::string_view version, std::string_view commit, wall_time started_at);
/// The envelope around `data` (JSON text; "" = {}).
std::string event_json(const records::event_record& event, std::string_view data);
/// The body of an `output` event: text if the bytes are UTF-8, else base64.
std::string output_data_json(stream which, std::uint64_t offset, std::string_view bytes);

} // namespace quell::controller::http
