// JSON of everything except operations and cancels.
#include "controller/cluster_json.hpp"

#include <map>
#include <optional>

#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::http {

namespace {

/// Writes every name of the enum, 0 if the map does not have it.
template <class Enum>
void write_by_name(json_writer& to, std::string_view key, const std::map<std::string, std::uint64_t>& counts,
                   std::size_t names) {
  to.key(key).open_object();
  for (std::size_t i = 0; i < names; ++i) {
    const auto found = counts.find(std::string(names_of<Enum>::list[i]));
    to.field(names_of<Enum>::list[i], found == counts.end() ? std::uint64_t{0} : found->second);
  }
  to.close_object();
}

/// The members of the status that every token sees. `seq` is for everybody: `as_of_seq` names it.
void write_status_head(json_writer& to, const cluster_view& cluster, std::string_view version, std::string_view commit,
                       wall_time started_at) {
  to.open_object();
  to.field("seq", cluster.seq).field("version", version).field("commit", commit).field("started_at", started_at);
  to.field("cluster", cluster.cluster).field("epoch", cluster.epoch);
}

void write_worker_counts(json_writer& to, const cluster_view& cluster) {
  write_by_name<worker_status>(to, "workers", cluster.workers, count_of<worker_status>());
}

/// Writes `write_fields(*value)` inside an object, or null.
template <class Value, class Write>
void write_object_or_null(json_writer& to, std::string_view key, const std::optional<Value>& value,
                          Write write_fields) {
  to.key(key);
  if (!value) {
    to.put(nullptr);
    return;
  }
  to.open_object();
  write_fields(*value);
  to.close_object();
}

constexpr std::size_t live_statuses = 4; // pending, running, paused, cancelling come first in the vocabulary
static_assert(is_terminal(static_cast<status>(live_statuses)) && !is_terminal(static_cast<status>(live_statuses - 1)));

} // namespace

void write_worker_open(json_writer& to, const worker_view& worker) {
  const auto& record = worker.record;
  auto labels = record.enrolled_labels;
  for (const auto& [name, value] : record.labels) labels.insert_or_assign(name, value);
  to.open_object();
  to.field("name", record.name).field("status", worker.status).field("labels", labels).field("slots", record.slots);
  to.field("slots_used", worker.slots_used).field("operations_live", worker.operations_live);
  to.field("containment", record.level).field("containment_limits", record.containment_limits);
  const auto text_or_null = [](const std::string& s) { return s.empty() ? std::nullopt : std::optional(s); };
  to.field("version", text_or_null(record.version)).field("address", text_or_null(record.address));
  to.field("incarnation", record.incarnation).field("joined_at", record.joined_at);
  to.field("last_heard_at", record.last_heard_at).field("lease_expires_at", worker.lease_expires_at);
  to.field("key_changed_at", record.key_changed_at).field("knows_controller_key", worker.knows_controller_key);
  write_object_or_null(to, "unreachable", worker.unreachable_since,
                       [&](const auto& since) { to.field("since_at", since).field("dead_by", worker.dead_by); });
  write_object_or_null(to, "trouble", worker.trouble,
                       [&](const auto& trouble) { to.field("since_at", trouble.since).field("why", trouble.why); });
  write_object_or_null(to, "rival", worker.rival, [&](const auto& rival) {
    to.field("since_at", rival.since).field("last_at", rival.last).field("address", rival.address);
  });
  write_object_or_null(to, "drain", record.drain, [&](const auto& drain) {
    to.field("since_at", drain.since).field("reason", drain.reason).field("deadline_at", drain.deadline_at);
  });
}

void write_worker(json_writer& to, const worker_view& worker) {
  write_worker_open(to, worker);
  to.close_object();
}

void write_token_open(json_writer& to, const records::token_record& token) {
  to.open_object();
  to.field("id", token.id).field("name", token.name).field("role", token.role).field("scope", token.scope);
  to.field("owner", token.owner).field("created_at", token.created_at).field("expires_at", token.expires_at);
  to.field("last_used_at", token.last_used_at);
}

void write_scope(json_writer& to, const scope_view& scope) {
  to.open_object();
  to.field("scope", scope.scope).field("live", scope.live).field("cancelling", scope.cancelling);
  to.field("cutoff_seq", scope.cutoff_seq > 0 ? std::optional(scope.cutoff_seq) : std::nullopt);
  to.field("last_cancel", scope.last_cancel);
  to.close_object();
}

void write_status_open(json_writer& to, const cluster_view& cluster, std::string_view version, std::string_view commit,
                       wall_time started_at) {
  write_status_head(to, cluster, version, commit, started_at);
  write_worker_counts(to, cluster);
  write_by_name<status>(to, "operations", cluster.operations, live_statuses);
  to.field("cancels_open", cluster.cancels_open).field("oldest_open_cancel_ms", cluster.oldest_open_cancel_ms);
}

void write_partial_status_open(json_writer& to, const cluster_view& cluster, const scope_view* inside,
                               std::string_view version, std::string_view commit, wall_time started_at) {
  write_status_head(to, cluster, version, commit, started_at);
  if (inside) {
    write_worker_counts(to, cluster); // the token may list the workers, too
    to.key("operations").open_object();
    to.field("live", inside->live).field("cancelling", inside->cancelling);
    to.close_object();
  } else {
    to.field("workers", nullptr).field("operations", nullptr);
  }
  to.field("cancels_open", nullptr).field("oldest_open_cancel_ms", nullptr);
}

std::string event_json(const records::event_record& event, std::string_view data) {
  json_writer to;
  to.open_object();
  to.field("id", std::to_string(event.id))
      .field("type", text_of(event))
      .field("at", event.at)
      .field("scope", event.scope);
  to.field("operation", event.operation)
      .field("root", event.root)
      .field("cancel", event.cancel)
      .field("worker", event.worker);
  to.raw_field("data", data.empty() ? "{}" : data);
  to.close_object();
  return to.take();
}

std::string output_data_json(stream which, std::uint64_t offset, std::string_view bytes) {
  json_writer to;
  to.open_object();
  to.field("stream", which).field("offset", offset);
  if (is_utf8(bytes))
    to.field("text", bytes);
  else
    to.field("base64", base64(bytes));
  to.close_object();
  return to.take();
}

} // namespace quell::controller::http
