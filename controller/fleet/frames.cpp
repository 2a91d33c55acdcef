// Frames: which belong to a live session, what they acknowledge and report, and how frames leave.
#include <algorithm>
#include <type_traits>

#include "controller/fleet/impl.hpp"
#include "protocol/refusal_code.hpp"

namespace quell::controller {

using namespace std::chrono_literals;

void fleet_impl::frame(const std::string& route, const std::string& public_key, const wire::envelope& e, moment now,
                       std::optional<boot_time> arrived) {
  now_ = now;
  arrived_ = std::min(arrived.value_or(now.boot), now.boot);
  const auto* h = std::get_if<wire::hello>(&e.body);
  const auto known = by_key_.find(public_key);
  if (known == by_key_.end())
    return refuse(
        route, h ? h->proposed : e.session,
        refusal_of(
            refusal_code::not_enrolled,
            "the key of this worker is not enrolled here; on the controller run: quell worker add NAME --key KEY", 2s));
  member& m = *known->second;
  expire(m, now); // a frame that comes after the dead-by instant changes nothing
  if (h) {
    greet(m, route, public_key, *h, now);
    return void(tidy_leaving(now));
  }
  if (!m.link || m.link->id != e.session || m.link->route != route) {
    // A frame of another session is not read. A heartbeat shows that its sender believes in that session, so it gets a
    // refusal on its own connection.
    if (std::holds_alternative<wire::worker_heartbeat>(e.body) && !handing_over_)
      refuse(route, e.session, refusal_of(refusal_code::session_over, "this session is over; say hello again", 100ms));
    return;
  }
  on_frame(m, now);
  if (!take_acknowledgement(m, e.ack, now)) return;
  if (e.number == 0)
    unnumbered(m, e, now);
  else
    numbered(m, e, now);
  tidy_leaving(now);
}

bool fleet_impl::take_acknowledgement(member& m, std::uint64_t number, moment now) {
  const bool was_full = m.link->unacknowledged_starts() >= std::size_t{m.record.slots} + placement::max_unacknowledged;
  const auto news = m.link->acknowledged(number, now.boot);
  if (!news.sane) {
    break_session(m, "frame " + std::to_string(number) + " was acknowledged and never sent", now);
    return false;
  }
  if (was_full && news.starts_taken) placement_.capacity_changed();
  if (news.welcome_taken) {
    m.lease.session_taken();
    // A longer lease of an earlier session (a handover) is void now; a later restart need not wait for it.
    if (!handing_over_ && m.record.lease > settings_.lease) {
      m.record.lease = settings_.lease;
      put(m);
    }
  }
  for (const auto seq : news.stops) ledger_.stop_applied(m.name(), seq, moment{now.wall, arrived_});
  return true;
}

void fleet_impl::unnumbered(member& m, const wire::envelope& e, moment now) {
  if (const auto* b = std::get_if<wire::worker_heartbeat>(&e.body)) {
    beat(m, *b, now);
  } else if (const auto* a = std::get_if<wire::acknowledge>(&e.body)) {
    if (a->resend) send_again(m, channel_sender::resend_cause::gap_reported, now);
  } else if (std::holds_alternative<wire::farewell>(e.body)) {
    farewell(m, now);
  }
  // Any other message is invalid outside the channel and is not read.
}

void fleet_impl::numbered(member& m, const wire::envelope& e, moment now) {
  session& s = *m.link;
  touch(m);
  switch (s.receiver.accept(e.number)) {
  case channel_receiver::verdict::duplicate:
    s.ack_due = true; // its sender has not seen the ack
    return;
  case channel_receiver::verdict::gap:
    s.gap_seen = true;
    return;
  case channel_receiver::verdict::deliver:
    break;
  }
  s.receiver.applied(e.number);
  // Another frame follows soon and carries the ack: `results_stored` for an end, a start's end or the answer to a
  // heartbeat for a start. Should it come late, the worker repeats its frame after a second.
  if (!std::holds_alternative<wire::task_started>(e.body) && !std::holds_alternative<wire::task_ended>(e.body))
    s.ack_due = true;
  if (!report(m, e.body, now)) break_session(m, "a message that a worker does not send was numbered", now);
}

// True if it is a message that a worker may number.
bool fleet_impl::report(member& m, const wire::message& body, moment now) {
  return std::visit(
      [&](const auto& x) {
        using message = std::decay_t<decltype(x)>;
        if constexpr (std::is_same_v<message, wire::task_started>) {
          ledger_.started(m.name(), x, now);
        } else if constexpr (std::is_same_v<message, wire::task_stopping>) {
          ledger_.stopping(m.name(), x, now);
        } else if constexpr (std::is_same_v<message, wire::task_ended>) {
          ledger_.ended(m.name(), x, now);
          refresh_load(m);
          placement_.capacity_changed();
        } else if constexpr (std::is_same_v<message, wire::task_unproven>) {
          ledger_.unproven(m.name(), x, now);
        } else if constexpr (std::is_same_v<message, wire::key_offer>) {
          offered(m, x.public_key, now);
        } else if constexpr (std::is_same_v<message, wire::controller_key_stored>) {
          stored_key(m, x.public_key, now);
        } else if constexpr (std::is_same_v<message, wire::farewell>) {
          farewell(m, now);
        } else {
          return std::is_same_v<message, wire::acknowledge>;
        }
        return true;
      },
      body);
}

// Renews the lease only for a worker that applies its frames: a worker that answers heartbeats but stops nothing is as
// bad as a silent one.
void fleet_impl::beat(member& m, const wire::worker_heartbeat& b, moment now) {
  if (!take_acknowledgement(m, b.applied, now)) return;
  if (handing_over_) return; // a grant would shorten the handover
  session& s = *m.link;
  if (s.owes(reported_departures_) && now.boot - s.progress_at >= settings_.lease) return;
  m.lease.answered(now.boot, settings_.lease);
  m.lease_end = now.boot + settings_.lease;
  effects_.urgent.push_back({s.route, envelope_for(m, 0, wire::lease_granted{b.beat, settings_.lease})});
}

// The worker leaves on purpose and none of its work lives: an empty inventory. It is shown as unreachable until its
// lease would have ended, then as lost; its key can say hello from anywhere at once.
void fleet_impl::farewell(member& m, moment now) {
  wire::hello nothing_left = m.link->greeting;
  end_session(m);
  m.left = true;
  ledger_.reconcile(m.name(), nothing_left, true, now);
  refresh_load(m);
  became_silent(m, now);
}

// ---- out ----------------------------------------------------------------------------------------------------------

wire::envelope fleet_impl::envelope_for(member& m, std::uint64_t number, wire::message body) {
  session& s = *m.link;
  s.ack_due = false;
  return {s.id, number, s.receiver.ack(), std::move(body)};
}

void fleet_impl::send(member& m, wire::message body, moment now) {
  session& s = *m.link;
  const std::uint64_t number = s.push(body, now.boot);
  effects_.ordered.push_back({s.route, envelope_for(m, number, std::move(body))});
  if (s.sender.overflown()) break_session(m, "too many frames are unacknowledged; say hello again", now);
}

void fleet_impl::send_again(member& m, channel_sender::resend_cause why, moment now) {
  for (auto& [number, body] : m.link->sender.resend(now.boot, why))
    effects_.ordered.push_back({m.link->route, envelope_for(m, number, std::move(body))});
}

} // namespace quell::controller
