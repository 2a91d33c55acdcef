// The cancel's JSON, field by field in the order of SURFACE 3.
#include "gateway/cancel_json.hpp"

#include <algorithm>

namespace quell::controller::http {

namespace {

constexpr std::size_t most_processes = 20;

template <class Enum, std::size_t N>
void write_counts(json_writer& to, std::string_view name, const std::array<std::uint64_t, N>& counts) {
  to.key(name).open_object();
  for (std::size_t i = 0; i < N; ++i) to.field(names_of<Enum>::list[i], counts[i]);
  to.close_object();
}

void write_unproven(json_writer& to, const unproven_operation& u) {
  to.open_object();
  to.field("operation", u.operation).field("title", u.title).field("scope", u.scope).field("worker", u.worker);
  to.field("why", u.why).field("since_at", u.since).field("processes_total", u.processes_total);
  to.key("processes").open_array();
  for (std::size_t i = 0; i < u.processes.size() && i < most_processes; ++i) {
    to.open_object();
    to.field("pid", u.processes[i].pid).field("state", u.processes[i].state).field("command", u.processes[i].command);
    to.close_object();
  }
  to.close_array();
  to.key("next").open_object();
  to.field("action", u.next).field("at", u.next_at);
  to.close_object();
  to.field("dead_by", u.dead_by);
  to.close_object();
}

void write_report(json_writer& to, const cancel_view& view, std::size_t most_unproven) {
  const auto& report = view.record.report;
  to.key("report").open_object();
  to.field("operations", report.operations).field("workers", report.workers);
  write_counts<receipt>(to, "receipts", report.receipts);
  write_counts<proof>(to, "proofs", report.proofs);
  to.field("unproven_total", view.unproven_total);
  to.key("unproven").open_array();
  for (std::size_t i = 0; i < view.unproven.size() && i < most_unproven; ++i) write_unproven(to, view.unproven[i]);
  to.close_array();
  to.field("fenced_ms", report.fenced_ms)
      .field("signalled_ms", report.signalled_ms)
      .field("settled_ms", report.settled_ms);
  to.field("proven", view.proven);
  to.close_object();
}

/// Writes everything up to and including the report.
void write_members(json_writer& to, const cancel_view& view, std::size_t most_unproven, recorded what,
                   cancel_mode mode) {
  const auto& record = view.record;
  const bool is_recorded = what == recorded::yes, dry_run = mode == cancel_mode::dry_run;
  to.field("id", is_recorded ? std::optional(record.id) : std::nullopt);
  to.field("seq", is_recorded ? std::optional(record.seq) : std::nullopt);
  to.key("target");
  write_target(to, record.target);
  to.field("outcome", record.outcome);
  to.field("status", dry_run ? std::nullopt : std::optional(record.status));
  to.field("dry_run", dry_run).field("durable", record.durable).field("reason", record.reason).field("cause", "cancel");
  to.field("by", record.by);
  to.key("via").open_object();
  to.field("channel", record.via_channel).field("token", record.via_token);
  to.field("token_id", record.via_token_id.empty() ? std::nullopt : std::optional(record.via_token_id));
  to.close_object();
  to.field("grace_ms", record.grace).field("up_to_seq", record.up_to_seq);
  to.field("created_at", is_recorded ? std::optional(record.created_at) : std::nullopt);
  write_report(to, view, most_unproven);
}

} // namespace

void write_target(json_writer& to, const records::cancel_target& target) {
  to.open_object();
  if (const auto* operation = std::get_if<records::target_operation>(&target)) {
    to.field("operation", operation->id);
  } else if (const auto* scope = std::get_if<records::target_scope>(&target)) {
    to.field("scope", scope->scope);
  } else if (const auto* owner = std::get_if<records::target_owner>(&target)) {
    to.field("owner", owner->owner);
    if (owner->below) to.field("scope", *owner->below);
  } else if (const auto* all = std::get_if<records::target_everything>(&target)) {
    to.field("everything", true);
    if (all->below) to.field("scope", *all->below);
  }
  to.close_object();
}

void write_cancel(json_writer& to, const cancel_view& view, std::size_t most_unproven, recorded what) {
  to.open_object();
  write_members(to, view, most_unproven, what, cancel_mode::stop);
  to.close_object();
}

std::string dry_run_json(const cancel_view& view, const std::vector<shown_operation>& would_stop) {
  auto plain = view;
  plain.unproven.clear();
  plain.unproven_total = 0;
  plain.proven = false;
  plain.record.report.receipts = {};
  plain.record.report.proofs = {};
  plain.record.report.fenced_ms = plain.record.report.signalled_ms = plain.record.report.settled_ms = std::nullopt;
  json_writer to;
  to.open_object();
  write_members(to, plain, 0, recorded::no, cancel_mode::dry_run);
  to.key("would_stop").open_object();
  to.key("operations").open_array();
  for (const auto& op : would_stop) write_operation_summary(to, op);
  to.close_array();
  to.field("truncated", view.truncated);
  to.close_object();
  to.close_object();
  return to.take();
}

void write_cancel_reference(json_writer& to, const records::cancel_record& record) {
  to.open_object();
  to.field("id", record.id).field("seq", record.seq);
  to.key("target");
  write_target(to, record.target);
  to.field("reason", record.reason).field("created_at", record.created_at);
  to.close_object();
}

unsigned cancel_http_status(const cancel_view& view) {
  // A tombstone waits for a later create (SURFACE 3), although nothing is live and its record is settled.
  if (view.record.outcome == cancel_outcome::unknown_id) return 202;
  if (view.record.status == cancel_status::settled) return 200;
  switch (view.record.outcome) {
  case cancel_outcome::nothing_live:
  case cancel_outcome::already_finished:
    return 200;
  case cancel_outcome::stopping:
  case cancel_outcome::joined:
  case cancel_outcome::unknown_id:
    return 202;
  }
  return 202;
}

} // namespace quell::controller::http
