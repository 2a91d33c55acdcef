// Everyone who must act on a cancel has been notified of it, with the shortest grace that was answered: workers that
// come back, and the owners of external operations. A settled cancel is complete on disk.
#include <algorithm>
#include <cstdlib>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

void oracle::controller_started() {
  for (auto& w : workers_) w.is_there = false;
  for (auto& r : rows_) {
    r.owner_kills_at.reset();
    r.stop_reported = r.record.hot.stop.has_value();
  }
  stops_left_.clear();
  welcomed_.clear();
  limits_hold(limits_number_);
  held_back_.clear();
}

/// True if one of these stops belongs to this cancel, covers the operation and is early enough.
bool oracle::is_reported(const std::vector<wire::stop>& stops, const cancel_row& c, const row& x) const {
  milliseconds nearest = c.first_grace.value_or(x.record.grace);
  if (c.nearest_grace) nearest = std::min(nearest, *c.nearest_grace);
  return std::any_of(stops.begin(), stops.end(), [&](const wire::stop& s) {
    return s.cancel == c.record.id && s.grace.value_or(x.record.grace) <= nearest && (!x.start || stop_covers(s, x));
  });
}

/// The session of this worker has been sent the stop for everything that it holds and a fenced cancel covers.
void oracle::check_reports(std::size_t worker) {
  const std::string called = world_.name(worker);
  const auto session = welcomed_.find(called);
  // After a failed write the rows differ from the ledger's knowledge.
  if (session == welcomed_.end() || writes_failed_ || !world_.controller.gate()) return;
  const auto& fleet = world_.controller.gate()->workers();
  if (fleet.session_of_key(world_.workers[worker]->key()) != session->second) return; // over, or about to be replaced
  for (const auto& r : rows_) {
    const auto& hot = r.record.hot;
    if (hot.worker != called || is_terminal_row(r) || hot.self_status || r.was_declared) continue;
    const bool has_ended_there = r.executions > 0 && r.living == 0; // its result is on its way
    const auto& sent = stops_left_[session->second];
    const auto is_stop = [&](const wire::stop& s) {
      return s.seq == hot.stop->seq || stop_covers(s, r); // any stop that covers it is enough
    };
    if (!has_ended_there && r.start && r.stop_reported && hot.stop && !hot.stop->cancel &&
        std::none_of(sent.begin(), sent.end(), is_stop))
      return world_.violate("told", called + " is there with " + name(r) + " and has not been sent its stop, " +
                                        std::string(name_of(hot.stop->cause)));
    for (const auto& c : cancels_)
      if (c.fenced_reported && c.record.status != cancel_status::settled && covers(c, r) && !is_reported(sent, c, r))
        return world_.violate("told", called + " is there with " + name(r) + " and has not been sent the stop of " +
                                          world_.label(c.record.id) + ", or not its nearest grace");
  }
}

void oracle::owner_notified(const controller::external_signal& s) {
  row* r = find(s.operation);
  if (!r || (r->owner_kills_at && *r->owner_kills_at <= s.kill_at)) return;
  r->owner_kills_at = s.kill_at;
  r->owner_notified_at = world_.events.now();
}

/// A cancel with this grace was answered: owners that were told to stop know that the deadline has moved closer.
void oracle::check_owners(const cancel_row& c, milliseconds grace) {
  if (writes_failed_) return;
  // Instants of the wall clock are computed from those of the boot clock, and the two clocks drift apart from the
  // moment of the notification, which is at most this long after the computation.
  constexpr instant longest_commit = 10 * seconds;
  constexpr milliseconds rounding{2};
  const auto ppm = std::abs(world_.plan.ppm[0]);
  const auto latest = [&](const row& r) {
    const instant since = world_.events.now() - r.owner_notified_at + longest_commit;
    return world_.controller.now().wall + grace + rounding + milliseconds{since / ms * ppm / 1'000'000};
  };
  for (const auto& r : rows_)
    if (r.owner_kills_at && !is_terminal_row(r) && !r.record.hot.self_status && covers(c, r) &&
        *r.owner_kills_at > latest(r))
      world_.violate("told", "the owner of " + name(r) + " is not told that " + world_.label(c.record.id) +
                                 " brought its end nearer");
}

/// A settled cancel has its times, and each of its events once.
void oracle::check_whole(const cancel_row& c) {
  const auto& report = c.record.report;
  if (writes_failed_ || c.record.status != cancel_status::settled) return;
  const auto wrong = [&](const std::string& text) {
    world_.violate("whole record", world_.label(c.record.id) + " is settled " + text);
  };
  if (!report.fenced_ms || !report.signalled_ms || !report.settled_ms) return wrong("without its times");
  for (const auto type : {event_type::cancel_fenced, event_type::cancel_signalled, event_type::cancel_settled})
    if (const auto n = c.events.find(type); n == c.events.end() || n->second != 1)
      return wrong("with " + std::to_string(n == c.events.end() ? 0 : n->second) + " events " +
                   std::string(text_of(type)));
}

} // namespace quell::simulation
