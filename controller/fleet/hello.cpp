// Sessions: which hello is accepted, which is refused and until when, and how a session begins and ends.
//
// A worker is identified by its CURVE key. Two processes can hold one key (a copied state directory, a join line used
// twice), so a hello is accepted only when the earlier life is known to be over. The same state directory on the same
// boot proves that by the directory's lock; any other hello waits until the lease is over by rule. A hello that is
// older than the session it would replace was delayed: its inventory is outdated, and accepting it would start work
// twice. It is refused like a second holder of the key.
#include <algorithm>

#include "controller/fleet/impl.hpp"
#include "protocol/refusal_code.hpp"

namespace quell::controller {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t max_worker_labels = 64;
constexpr std::size_t max_past_lives = 16;
constexpr std::size_t max_text = 128;
constexpr std::uint32_t max_slots = 1'000'000;

std::string cut(std::string text, std::size_t limit = max_text) {
  if (text.size() > limit) text.resize(limit);
  return text;
}

std::map<std::string, std::string> sane_labels(const std::map<std::string, std::string>& sent_labels) {
  std::map<std::string, std::string> kept;
  for (const auto& [key, value] : sent_labels)
    if (kept.size() < max_worker_labels && !key.empty() && key.size() <= max_text && value.size() <= max_text)
      kept.emplace(key, value);
  return kept;
}

milliseconds until(boot_time t, boot_time now) { return std::chrono::duration_cast<milliseconds>(t - now) + 1ms; }

wire::refuse version_refusal(std::uint32_t version) {
  const bool newer = version > wire::protocol_version;
  std::string text = "this controller speaks protocol version " + std::to_string(wire::protocol_version) +
                     ", the worker speaks " + std::to_string(version) + ": upgrade the " +
                     (newer ? "controller (quelld)" : "worker (quell-worker)");
  // A newer worker waits for its controller's upgrade; an older one must be upgraded itself.
  return refusal_of(refusal_code::unsupported_version, std::move(text), newer ? milliseconds{30s} : milliseconds{0});
}

} // namespace

void fleet_impl::refuse(const std::string& route, const session_id& about, wire::refuse answer) {
  effects_.urgent.push_back({route, wire::envelope{about, 0, 0, std::move(answer)}});
}

void fleet_impl::unsupported_version(const std::string& route, const std::string&, std::uint32_t version, moment now) {
  now_ = now;
  refuse(route, session_id{}, version_refusal(version));
}

std::optional<wire::refuse> fleet_impl::reason_to_refuse(const wire::hello& h) const {
  if (h.version != wire::protocol_version) return version_refusal(h.version);
  if (h.cluster && *h.cluster != cluster_)
    return refusal_of(refusal_code::other_cluster,
                      "this controller is cluster " + cluster_.text() + ", the worker belongs to " + h.cluster->text() +
                          ": use the join line of its own cluster, or a new state directory",
                      0ms);
  const bool newer_epoch = h.epoch_seen > epoch_;
  if (newer_epoch || h.seq_seen > ledger_.last_seq()) {
    const std::string seen = newer_epoch
                                 ? "epoch " + std::to_string(h.epoch_seen) +
                                       " of this cluster, this controller is at " + std::to_string(epoch_)
                                 : "seq " + std::to_string(h.seq_seen) + " of this cluster, this controller is at " +
                                       std::to_string(ledger_.last_seq());
    return refusal_of(
        refusal_code::old_epoch,
        "the worker has seen " + seen + ": the store is a restored backup; start it once with quelld --restored", 5s);
  }
  return std::nullopt;
}

// The instant until which this hello cannot be accepted because another life with this key can still hold the lease;
// nullopt = accept it now.
std::optional<boot_time> fleet_impl::held_until(const member& m, const wire::hello& h) const {
  const auto dead_by = m.lease.dead_by();
  const bool lease_runs = dead_by && *dead_by > now_.boot;
  const bool longer_leases_run = m.expiry && *m.expiry > now_.boot;
  if (m.left) return std::nullopt;
  if (m.home_claims_it && *m.home_claims_it > now_.boot && h.state_id != m.record.home_state)
    return lease_runs ? std::max(*dead_by, *m.home_claims_it) : *m.home_claims_it;
  const bool same_state = h.state_id == m.record.state_id;
  const bool counts_lives = same_state && h.life != 0 && m.life != 0;
  // A state directory counts its lives, so a lower number is a late hello of a life that is over. Once no lease runs it
  // can also be a directory that was restored from a backup.
  if (counts_lives && h.life < m.life && (lease_runs || longer_leases_run)) return lease_runs ? dead_by : m.expiry;
  // Each hello of a life proposes a later session, so an equal one is a copy of the hello that began the last session.
  const bool is_next_life = counts_lives && h.life > m.life;
  if (!is_next_life && (lease_runs || longer_leases_run) && m.last_session &&
      h.proposed.time() <= m.last_session->time())
    return lease_runs ? dead_by : m.expiry;
  // A life whose successor has been here is over, whatever its machine's wall clock did to the ids since.
  if (std::find(m.past_lives.begin(), m.past_lives.end(), h.incarnation) != m.past_lives.end())
    return lease_runs ? *dead_by : now_.boot + settings_.lease;
  if (same_state && h.boot_id == m.record.boot_id) return std::nullopt;
  if (lease_runs) return dead_by;
  // The same directory after a reboot: its earlier life ended with the boot. Another directory can be another machine,
  // where tasks with a longer lease of their own can still run.
  if (!same_state && longer_leases_run) return m.expiry;
  return std::nullopt;
}

// Two live processes with one key. The holder of the session keeps it, except against the state directory that used the
// key first: a copy of the key cannot lock that directory out for good. The copy's session ends, its lease runs out,
// and until a little later only the first directory is accepted.
void fleet_impl::note_rival(member& m, const wire::hello& h, moment now) {
  const auto dead_by = m.lease.dead_by();
  const bool lives = m.link || (dead_by && *dead_by > now.boot);
  if (!lives || m.left || h.state_id == m.record.state_id) return;
  constexpr milliseconds repeated{600'000};
  const bool is_news = !m.rival || now.wall - m.rival->last > repeated;
  if (!m.rival) m.rival = key_rival{now.wall, now.wall, {}};
  m.rival->last = now.wall;
  m.rival->address = cut(h.host, 255);
  if (is_news) announce(event_type::worker_disputed, m, now);
  if (h.state_id != m.record.home_state) return;
  m.home_claims_it = std::max(now.boot, dead_by.value_or(now.boot)) + settings_.lease;
  if (m.link) break_session(m, "the state directory that used this key first is back; this one has to go", now);
}

void fleet_impl::greet(member& m, const std::string& route, const std::string& key, const wire::hello& h, moment now) {
  if (handing_over_) return; // about to end: the next controller answers
  if (auto no = reason_to_refuse(h)) return refuse(route, h.proposed, std::move(*no));
  // Leaves a too frequent hello unanswered, since it will be repeated. An honest worker waits at least 100 ms between
  // two.
  constexpr double items_per_hello = 1000;
  const auto items = static_cast<double>(h.inventory.size() + h.results.size());
  if (!m.hellos.take(1 + items / items_per_hello, now.boot)) return;
  if (m.link && m.link->id == h.proposed) return repeat_welcome(m, route, now);
  if (m.expiry) { // tasks can have been declared dead since
    m.expiry.reset();
    expire(m, now);
  }
  note_rival(m, h, now);
  if (const auto held = held_until(m, h)) {
    const std::string who = m.name();
    return refuse(route, h.proposed,
                  refusal_of(refusal_code::lease_held,
                             "another process with the key of worker " + who +
                                 " may live until its lease is over; this one is taken then",
                             until(*held, now.boot)));
  }
  begin_session(m, route, key, h, now);
}

// The hello was duplicated, or its answer was lost. Nothing is reconciled again.
void fleet_impl::repeat_welcome(member& m, const std::string& route, moment now) {
  session& s = *m.link;
  if (s.sender.last_acknowledged() > 0) return; // it has the welcome: this is a late copy
  if (s.route != route) {
    by_route_.erase(s.route);
    s.route = route;
    by_route_[route] = &m;
  }
  on_frame(m, now);
  effects_.ordered.push_back({route, envelope_for(m, 1, s.welcome)});
}

void fleet_impl::begin_session(member& m, const std::string& route, const std::string& key, const wire::hello& h,
                               moment now) {
  const bool same_life = m.record.incarnation == h.incarnation;
  const bool was_away = m.silent_since.has_value();
  end_session(m);
  m.lease.session_begins();

  auto& r = m.record;
  if (r.incarnation && !same_life) {
    m.past_lives.push_back(*r.incarnation);
    if (m.past_lives.size() > max_past_lives) m.past_lives.erase(m.past_lives.begin());
  }
  r.labels = sane_labels(h.labels);
  r.slots = std::min(h.slots, max_slots);
  r.level = h.level;
  r.containment_limits.clear();
  for (const auto& limit : h.containment_limits)
    if (r.containment_limits.size() < max_worker_labels) r.containment_limits.push_back(cut(limit, 500));
  r.version = cut(h.software);
  r.address = cut(h.host, 255);
  r.boot_id = cut(h.boot_id);
  r.state_id = cut(h.state_id);
  m.life = h.life;
  if (r.home_state.empty()) r.home_state = r.state_id;
  if (r.state_id == r.home_state) m.home_claims_it.reset();
  if (h.trouble.empty())
    m.trouble.reset();
  else
    m.trouble = worker_trouble{m.trouble ? m.trouble->since : now.wall, cut(h.trouble, 500)};
  r.incarnation = h.incarnation;
  r.joined_at = r.last_heard_at = now.wall;
  r.lost = false;
  r.lease = std::max(
      r.lease,
      settings_.lease); // on disk before the welcome leaves; a longer earlier grant counts until that is acknowledged
  m.merge_labels();
  m.last_frame_at = now.boot;
  m.silent_since.reset();
  m.is_silence_reported = m.left = m.expired_all = false;
  m.expiry.reset();

  session s;
  s.id = h.proposed;
  s.route = route;
  s.greeting = h;
  s.greeting.inventory.clear();
  s.greeting.results.clear();
  s.welcome = {wire::protocol_version, cluster_, epoch_, m.name(), settings_.heartbeat, settings_.lease, true};
  m.link = std::move(s);
  m.last_session = h.proposed;
  by_route_[route] = &m;
  used_key(m, key, now);
  put(m);
  // The welcome is frame 1, made before the ledger compares the inventory: the resulting stops follow it.
  send(m, m.link->welcome, now);
  m.lease.answered(now.boot, settings_.lease);
  m.lease_end = now.boot + settings_.lease;
  ledger_.reconcile(m.name(), h, same_life, now);
  tell_key(m, now);
  if (was_away) ledger_.reachability_changed(m.name(), now);
  refresh_load(m);
  announce(event_type::worker_joined, m, now);
  placement_.roster_changed();
}

void fleet_impl::end_session(member& m) {
  if (!m.link) return;
  const auto found = by_route_.find(m.link->route);
  if (found != by_route_.end() && found->second == &m) by_route_.erase(found);
  m.link.reset();
  m.stored.clear();
  placement_.roster_changed();
}

// Ends the session from our side. The worker is notified, so that it says hello again at once; until then its lease
// runs on.
void fleet_impl::break_session(member& m, const std::string& why, moment now) {
  const std::string route = m.link->route;
  const session_id id = m.link->id;
  end_session(m);
  became_silent(m, now);
  refuse(route, id, refusal_of(refusal_code::session_over, why, 100ms));
}

} // namespace quell::controller
