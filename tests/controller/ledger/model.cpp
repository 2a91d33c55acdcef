// O(n) everywhere, on purpose.
#include "tests/controller/ledger/model.hpp"

#include <algorithm>

namespace quell::controller::testing {

int model::find(const operation_id& id) const {
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (operations[i].id == id) return static_cast<int>(i);
  return -1;
}

std::vector<int> model::children(int x) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (operations[i].parent == x && !operations[i].detached && !operations[i].over)
      found.push_back(static_cast<int>(i));
  return found;
}

bool model::is_or_hangs_on(int x, int ancestor) const {
  for (int at = x; at >= 0; at = operations[at].detached ? -1 : operations[at].parent)
    if (at == ancestor) return true;
  return false;
}

std::string model::refusal(int parent, bool detached, const scope_path& scope, std::optional<std::uint64_t> as_of,
                           const std::string& key) const {
  if (parent >= 0) {
    const auto& p = operations[parent];
    if (p.over) return p.self_status->as == status::cancelled ? "stale_start" : "parent_ended";
    if (p.stop) return "stale_start";
    if (p.self_status) return "parent_ended";
    if (!scope.is_at_or_below(p.scope)) return "scope_outside_parent";
  }
  if (as_of)
    for (const auto& [text, cutoff] : cutoffs)
      if (scope.is_at_or_below(*scope_path::parse(text)) && *as_of <= cutoff) return "stale_start";
  if (!key.empty())
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const auto& o = operations[i];
      const int x = static_cast<int>(i);
      if (!o.over && o.key == key && o.scope == scope && !detached && is_or_hangs_on(parent, x)) return "invalid_field";
    }
  return "";
}

void model::create(model_operation o) {
  if (!o.key.empty())
    for (std::size_t i = 0; i < operations.size(); ++i)
      if (!operations[i].over && operations[i].key == o.key && operations[i].scope == o.scope)
        stop(static_cast<int>(i), stop_cause::superseded);
  operations.push_back(std::move(o));
}

std::vector<int> model::older_with_key(int x) const {
  std::vector<int> found;
  for (int i = 0; i < x; ++i)
    if (!operations[i].over && !operations[i].key.empty() && operations[i].key == operations[x].key &&
        operations[i].scope == operations[x].scope)
      found.push_back(i);
  return found;
}

bool model::may_be_placed(int x) const {
  const auto& o = operations[x];
  return !o.over && !o.stop && !o.self_status && !o.worker && !o.started && older_with_key(x).empty();
}

std::set<int> model::covered(const records::cancel_target& target, std::uint64_t cutoff, std::uint64_t seq) const {
  std::set<int> found;
  const auto within = [](const std::optional<scope_path>& below, const scope_path& s) {
    return !below || s.is_at_or_below(*below);
  };
  std::vector<int> open;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& o = operations[i];
    if (o.over || o.as_of > cutoff || o.seq >= seq) continue;
    bool hit = false;
    if (const auto* t = std::get_if<records::target_operation>(&target)) hit = t->id == o.id;
    if (const auto* t = std::get_if<records::target_scope>(&target)) hit = o.scope.is_at_or_below(t->scope);
    if (const auto* t = std::get_if<records::target_owner>(&target))
      hit = t->owner == o.owner && within(t->below, o.scope);
    if (const auto* t = std::get_if<records::target_everything>(&target)) hit = within(t->below, o.scope);
    if (hit) open.push_back(static_cast<int>(i));
  }
  while (!open.empty()) {
    const int x = open.back();
    open.pop_back();
    if (!found.insert(x).second) continue;
    for (const int c : children(x)) open.push_back(c);
  }
  return found;
}

std::uint64_t model::left(const model_cancel& c) const {
  return static_cast<std::uint64_t>(
      std::count_if(c.covered.begin(), c.covered.end(), [&](int x) { return !operations[x].over; }));
}

const model_cancel* model::joined(const records::cancel_target& target, std::uint64_t cutoff,
                                  const std::set<int>& covers) const {
  const model_cancel* newest = nullptr;
  for (const auto& c : cancels)
    if (c.target == target && left(c) > 0 && (newest == nullptr || c.cutoff > newest->cutoff)) newest = &c;
  if (newest == nullptr || covers.empty()) return nullptr;
  return newest->cutoff >= cutoff || left(*newest) == covers.size() ? newest : nullptr;
}

void model::accept(model_cancel c) {
  if (const auto* t = std::get_if<records::target_scope>(&c.target)) {
    auto& cutoff = cutoffs[t->scope.text()];
    cutoff = std::max(cutoff, c.cutoff);
  }
  for (const int x : c.covered)
    if (!operations[x].stop) operations[x].stop = model_stop{stop_cause::cancel, c.id};
  cancels.push_back(std::move(c));
}

void model::stop(int x, stop_cause cause, std::optional<cancel_id> cancel) {
  if (operations[x].stop) return; // and so is everything below it
  operations[x].stop = model_stop{cause, cancel};
  for (const int c : children(x)) stop(c, stop_cause::parent_ended);
}

void model::finish_local(int x, model_end e) {
  auto& o = operations[x];
  o.self_status = e;
  o.worker.reset();
  for (const int c : children(x))
    if (e.as != status::completed || operations[c].edge == on_parent_end::cancel) stop(c, stop_cause::parent_ended);
}

void model::lose(int x, receipt how, proof evidence) {
  const auto& stop = operations[x].stop;
  const bool is_by_rule = evidence == proof::lease_expired;
  if (!stop) return finish_local(x, {status::failed, {}, is_by_rule ? evidence : proof::exit_status});
  const bool fails = stop->cause == stop_cause::timeout || stop->cause == stop_cause::worker_lost;
  finish_local(x, {fails ? status::failed : status::cancelled, how, evidence});
}

void model::time_passed(boot_time now) {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& o = operations[i];
    if (!o.over && !o.self_status && o.deadline && *o.deadline <= now) stop(static_cast<int>(i), stop_cause::timeout);
  }
}

std::string model::ended(const operation_id& id, const records::operation_hot& row) {
  const int x = find(id);
  if (x < 0) return "something unknown ended";
  auto& o = operations[x];
  if (o.over) return "it ended twice";
  if (!children(x).empty()) return "it ended before its children";
  if (!o.self_status) {
    if (!o.stop || o.was_held) return "it ended without a stop, or without its worker's word";
    o.self_status = model_end{status::cancelled, receipt::never_started, proof::never_ran};
  }
  o.over = true;
  if (row.now != o.self_status->as) return "it ended as " + std::string(name_of(row.now));
  if (row.stop.has_value() != o.stop.has_value()) return o.stop ? "its stop is not in its row" : "nobody stopped it";
  const receipt how = o.self_status->how.value_or(receipt::already_finished);
  const proof evidence = o.self_status->evidence;
  if (o.stop) {
    if (row.stop->cause != o.stop->cause || row.stop->cancel != o.stop->cancel)
      return "another stop stands in its row: " + std::string(name_of(row.stop->cause)) + ", not " +
             std::string(name_of(o.stop->cause));
    if (row.stop->how != how || row.stop->evidence != evidence) return "another receipt or proof stands in its row";
  }
  for (auto& c : cancels)
    if (c.covered.contains(x)) {
      ++c.receipts[how];
      ++c.proofs[evidence];
    }
  return "";
}

std::string model::overdue() const {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const auto& o = operations[i];
    if (o.over || !children(static_cast<int>(i)).empty()) continue;
    if (o.self_status) return "its own work and all below it have ended, and it lives";
    if (o.stop && !o.was_held) return "it was never sent and is stopped, and it lives";
  }
  return "";
}

} // namespace quell::controller::testing
