// Signals, heartbeats and results as JSON.
#include "gateway/external_json.hpp"

#include "gateway/query_reader.hpp"

namespace quell::controller::http {

namespace {

void write_reason(json_writer& to, const external_signal& s) {
  to.open_object();
  to.field("id", s.cancel).field("cause", s.cause).field("reason", s.reason).field("by", s.by);
  to.field("signalled_at", s.since);
  to.close_object();
}

} // namespace

void write_signal(json_writer& to, const external_signal& s) {
  to.open_object();
  to.field("operation", s.operation).field("kind", s.kind).field("name", s.name).field("labels", s.labels);
  to.key("cancel");
  write_reason(to, s);
  to.field("grace_ms", s.grace).field("kill_at", s.kill_at);
  to.close_object();
}

std::string signal_json(const external_signal& s) {
  json_writer to;
  write_signal(to, s);
  return to.take();
}

std::string signal_frame(const external_signal& s) { return "event: cancel\ndata: " + signal_json(s) + "\n\n"; }

std::string heartbeat_json(const operation_id& id, const renewal_answer& answer) {
  json_writer to;
  to.open_object();
  to.field("operation", id).field("lease_expires_at", answer.lease_expires_at);
  if (answer.cancels.empty()) {
    to.field("kind", nullptr).field("name", nullptr).field("labels", nullptr);
    to.field("cancel", nullptr).field("grace_ms", nullptr).field("kill_at", nullptr);
  } else {
    const auto& s = answer.cancels.front();
    to.field("kind", s.kind).field("name", s.name).field("labels", s.labels).key("cancel");
    write_reason(to, s);
    to.field("grace_ms", s.grace).field("kill_at", s.kill_at);
  }
  to.close_object();
  return to.take();
}

std::string heartbeats_json(const renewal_answer& answer) {
  json_writer to;
  to.open_object();
  to.field("renewed", answer.renewed).field("lease_expires_at", answer.lease_expires_at);
  to.key("cancels").open_array();
  for (const auto& s : answer.cancels) write_signal(to, s);
  to.close_array();
  to.field("next_cursor",
           answer.next ? std::optional(to_text(seq_cursor{.ascending = true, .seq = *answer.next})) : std::nullopt);
  to.key("unknown").open_array();
  for (const auto& id : answer.unknown) to.put(id);
  to.close_array();
  to.close_object();
  return to.take();
}

item_answer refused(problem p) {
  item_answer item;
  item.status = kind_of_problem(p.code).status;
  item.error = std::move(p);
  return item;
}

item_answer named_only(const operation_id& id, unsigned status) {
  item_answer item;
  item.status = status;
  item.id = id;
  return item;
}

response with_preference(response answer) {
  answer.headers.emplace_back("Preference-Applied", "return=minimal");
  return answer;
}

response minimal_answer(const operation_id& id, unsigned status) {
  json_writer to;
  to.open_object().field("id", id).close_object();
  return with_preference(json_answer(to.take(), status));
}

std::string results_json(const gateway_context& gw, const std::vector<item_answer>& items, const request_id& request) {
  json_writer to;
  to.open_object().key("results").open_array();
  for (const auto& item : items) {
    to.open_object().field("status", item.status);
    if (item.id) {
      to.field("id", *item.id).close_object();
      continue;
    }
    to.key("operation");
    if (item.operation)
      write_operation(to, *item.operation, gw.options.worker_lease);
    else
      to.put(nullptr);
    to.raw_field("error", item.error ? problem_json(*item.error, request) : "");
    to.close_object();
  }
  to.close_array().close_object();
  return to.take();
}

response item_response(gateway_context& gw, const item_answer& item) {
  if (item.error) throw *item.error;
  if (item.id) return minimal_answer(*item.id, item.status);
  return json_answer(operation_text(gw, *item.operation), item.status);
}

} // namespace quell::controller::http
