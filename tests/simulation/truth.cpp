// Queries of the true state, and the checks at rest.
#include "tests/simulation/truth.hpp"

#include <algorithm>
#include <numeric>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

oracle::oracle(world& w) : world_(w), workers_(w.plan.workers), limits_{w.plan.guilds.of_some} {}

oracle::row* oracle::find(const operation_id& id) {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &rows_[at->second];
}
const oracle::row* oracle::find(const operation_id& id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &rows_[at->second];
}

std::string oracle::name(const row& r) const { return world_.label(r.record.id); }

bool oracle::is_over(const operation_id& id) const {
  const row* r = find(id);
  return r && is_terminal_row(*r);
}

/// By whole segments; not with the product's own comparison.
bool oracle::below(const scope_path& scope, const scope_path& above) {
  const auto& text = scope.text();
  const auto& prefix = above.text();
  return text == prefix ||
         (text.size() > prefix.size() && text[prefix.size()] == '/' && text.compare(0, prefix.size(), prefix) == 0);
}

/// The definition of a cancel's coverage (DESIGN 2), along the edges that are not detached.
bool oracle::covers(const cancel_row& c, const row& x) const {
  const auto& target = c.record.target;
  if (x.record.seq >= c.record.seq) return false;
  for (const row* at = &x;;) {
    const auto& r = at->record;
    const bool old_enough = r.as_of <= c.record.cutoff && r.seq < c.record.seq;
    if (const auto* o = std::get_if<records::target_operation>(&target)) {
      if (o->id == r.id && old_enough) return true;
    } else if (const auto* s = std::get_if<records::target_scope>(&target)) {
      if (old_enough && below(r.scope, s->scope)) return true;
    } else if (const auto* w = std::get_if<records::target_owner>(&target)) {
      if (old_enough && r.owner.id == w->owner && (!w->below || below(r.scope, *w->below))) return true;
    } else if (const auto* e = std::get_if<records::target_everything>(&target)) {
      if (old_enough && (!e->below || below(r.scope, *e->below))) return true;
    }
    if (at->parent < 0 || r.detached) return false;
    at = &rows_[static_cast<std::size_t>(at->parent)];
  }
}

/// True if a stop message alone covers a START.
bool oracle::stop_names(const wire::stop& s, const wire::start& start) const {
  const auto named = [&](const operation_id& id) {
    return std::find(s.operations.begin(), s.operations.end(), id) != s.operations.end();
  };
  if (named(start.operation) || std::any_of(start.ancestors.begin(), start.ancestors.end(), named)) return true;
  return s.scope && start.as_of <= s.cutoff && below(start.scope, *s.scope);
}

/// True if a stop message covers the operation, or one above it.
bool oracle::stop_covers(const wire::stop& s, const row& x) const {
  for (const row* at = &x;;) {
    if (at->start && stop_names(s, *at->start)) return true;
    if (at->parent < 0 || at->record.detached) return false;
    at = &rows_[static_cast<std::size_t>(at->parent)];
  }
}

bool oracle::cancels_settled() const {
  return std::all_of(cancels_.begin(), cancels_.end(),
                     [](const auto& c) { return c.record.status == cancel_status::settled; });
}

std::string oracle::unsettled() const {
  std::string text;
  for (const auto& c : cancels_)
    if (c.record.status != cancel_status::settled) text += " " + world_.label(c.record.id);
  for (const auto& r : rows_)
    if (!is_terminal_row(r))
      text += " " + name(r) + "(" + std::string(name_of(r.record.hot.now)) +
              (r.record.hot.worker ? " on " + *r.record.hot.worker : "") + ")";
  return text;
}

bool oracle::all_over() const {
  return std::all_of(rows_.begin(), rows_.end(), [this](const auto& r) { return is_terminal_row(r); });
}

void oracle::check_the_end() {
  for (const auto& r : rows_) {
    if (r.living > 0) world_.violate("nothing left behind", name(r) + " has living processes at the end");
    if (!is_terminal_row(r)) world_.violate("liveness", name(r) + " never ended");
    check_result(r);
  }
  for (const auto& c : cancels_) {
    const auto& report = c.record.report;
    const auto sum = std::accumulate(report.receipts.begin(), report.receipts.end(), std::uint64_t{0});
    if (sum != report.operations) world_.violate("report", world_.label(c.record.id) + " does not add up at the end");
  }
}

/// The status is the end of the work itself, or there is a reason for another one.
void oracle::check_result(const row& r) {
  const auto& hot = r.record.hot;
  const auto wrong = [&](const std::string& text) { world_.violate("result", name(r) + " " + text); };
  if (r.record.kind != kind::task) return;
  if (hot.now == status::completed) {
    if (!r.exit) return wrong("completed, but its leader never ended by itself");
    if (r.exit->code != 0) return wrong("completed with a code that is not 0");
  }
  if (hot.now == status::cancelled && !hot.stop) return wrong("is cancelled without a stop");
  // The worker decides who won: an operation that still had processes when its worker applied the stop was stopped.
  // One that was lost by the rule of leases before the stop keeps that end, also if a process of it hangs in the
  // kernel.
  const bool was_stopped =
      r.ended_by && hot.stop && hot.stop->how != receipt::declared && hot.stop->evidence != proof::lease_expired;
  const bool says_so = hot.stop && hot.stop->how != receipt::already_finished && hot.now != status::completed;
  if (was_stopped && !says_so && !writes_failed_)
    world_.violate("who won", name(r) + " had processes when its stop was applied and keeps an end of its own");
  // A restart forgets a cancel that could not be written; its workers have obeyed it.
  if (hot.stop || writes_failed_) return;
  const std::string code = hot.error ? hot.error->code : "";
  if (hot.now == status::failed && code == "error" && r.exit && r.exit->code == 0) return wrong("failed with code 0");
  if (r.exit && hot.exit && hot.exit->code && hot.exit->code != r.exit->code) return wrong("has another exit code");
  const auto& plan = world_.plan;
  bool is_rough = false;
  for (const auto t : {trouble::broken_links, trouble::hostile_links, trouble::partitions, trouble::controller_crash,
                       trouble::handover, trouble::worker_crash, trouble::worker_leave, trouble::guardian_death,
                       trouble::freeze, trouble::reboot, trouble::slow_disk, trouble::full_disk, trouble::broken_disk})
    is_rough = is_rough || plan.has(t);
  if (code == "worker_lost" && !is_rough) wrong("lost its worker, and nothing happened to any worker");
}

} // namespace quell::simulation
