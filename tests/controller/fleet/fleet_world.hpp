// The fleet with played remote workers, in terms of the domain. Time is passed in; frames travel when `deliver` is
// called.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/fleet.hpp"
#include "controller/fleet/placement.hpp"
#include "tests/controller/fleet/fleet_ledger_double.hpp"

namespace quell::controller::test {

using namespace std::chrono_literals;

template <class Id>
Id id_of(std::uint64_t number) {
  std::array<std::uint8_t, 10> random{};
  for (int i = 0; i < 8; ++i) random[9 - i] = static_cast<std::uint8_t>(number >> (8 * i));
  return Id{make_uuid7(wall_time{1'700'000'000'000ms + milliseconds(number)}, random)};
}

inline std::string key_of(const std::string& worker) {
  std::string key = worker;
  key.resize(40, '.');
  return key;
}

/// The worker's side of a session: the frames that it received, and the arithmetic of its lease.
struct far_worker {
  std::string name;
  std::string key, route;
  wire::hello hello;
  channel_receiver receiver;
  std::uint64_t sent = 0, beats = 0;
  worker_lease lease;
  boot_time hello_sent{};
  std::vector<wire::message> got; ///< delivered in order, each once
  std::vector<wire::refuse> refusals;
  std::vector<wire::lease_granted> grants;
  std::vector<wire::acknowledge> acknowledgements;
  std::uint64_t controller_ack = 0;
  bool deaf = false;  ///< its frames get lost
  bool stuck = false; ///< it beats and applies nothing

  session_id session() const { return hello.proposed; }
  template <class Message>
  std::vector<Message> all() const {
    std::vector<Message> found;
    for (const auto& m : got)
      if (const auto* x = std::get_if<Message>(&m)) found.push_back(*x);
    return found;
  }
};

struct fleet_world {
  ledger_double ledger;
  fleet_settings settings;
  cluster_id cluster = id_of<cluster_id>(7);
  std::uint64_t epoch = 5;
  moment now{wall_time{1'800'000'000'000ms}, boot_time{1'000'000'000'000}};
  std::unique_ptr<fleet> f;
  std::map<std::string, far_worker> far;
  std::map<std::string, records::worker_record> rows; ///< as they stand on disk
  std::vector<std::string> keys;
  std::vector<outgoing_frame> wire_ordered; ///< made and not yet delivered
  std::vector<outgoing_frame> history;      ///< every frame that was ever made
  std::uint64_t ids = 0;
  controller::ledger* real = nullptr; ///< in the place of the small one
  std::function<void()> pump = [] {}; ///< brings the effects of the real one to the fleet

  fleet_world() { start(); }

  /// (Re)starts the controller from the state on disk.
  void start() {
    std::vector<records::worker_record> recovered;
    for (const auto& [name, row] : rows) recovered.push_back(row);
    f = fleet::make(
        settings, real ? *real : static_cast<controller::ledger&>(ledger), recovered, cluster, epoch,
        [](const operation_id& id) { return "token-of-" + id.text(); }, now);
    wire_ordered.clear();
    take();
  }
  void restart() {
    ++epoch;
    start();
  }

  void pass(std::chrono::nanoseconds d) {
    now.boot = now.boot + d;
    now.wall += std::chrono::duration_cast<milliseconds>(d);
  }
  /// Time passes in steps, with ticks; no worker sends anything.
  void silence(milliseconds d, milliseconds step = 100ms) {
    for (auto left = d; left > 0ms; left -= step) {
      pass(std::min(left, step));
      f->tick(now);
      settle();
    }
  }
  /// Time passes and these workers send each heartbeat.
  void life_goes_on(milliseconds d, std::vector<std::string> who) {
    for (auto left = d; left > 0ms; left -= settings.heartbeat) {
      pass(settings.heartbeat);
      for (const auto& name : who) beats(name);
      f->tick(now);
      settle();
    }
  }

  void take() {
    pump();
    auto e = f->take();
    for (auto& row : e.journal) {
      if (auto* put = std::get_if<records::put_worker>(&row)) rows[put->record.name] = put->record;
      if (auto* drop = std::get_if<records::drop_worker>(&row)) rows.erase(drop->name);
    }
    if (e.allowed_keys) keys = *e.allowed_keys;
    for (auto& frame : e.urgent) {
      history.push_back(frame);
      arrive(frame);
    }
    for (auto& frame : e.ordered) {
      history.push_back(frame);
      wire_ordered.push_back(std::move(frame));
    }
  }
  /// Everything sent so far commits and arrives (unless the worker is deaf).
  void deliver() {
    for (auto& frame : std::exchange(wire_ordered, {})) arrive(frame);
  }
  void settle() {
    take();
    deliver();
  }
  void arrive(const outgoing_frame& frame) {
    for (auto& [name, w] : far) {
      if (w.route != frame.route || w.deaf) continue;
      if (const auto* r = std::get_if<wire::refuse>(&frame.frame.body)) w.refusals.push_back(*r);
      if (frame.frame.session != w.session()) continue;
      w.controller_ack = std::max(w.controller_ack, frame.frame.ack);
      if (const auto* g = std::get_if<wire::lease_granted>(&frame.frame.body)) {
        w.grants.push_back(*g);
        w.lease.granted(g->beat, g->length);
      }
      if (const auto* a = std::get_if<wire::acknowledge>(&frame.frame.body)) w.acknowledgements.push_back(*a);
      if (frame.frame.number == 0) continue;
      if (w.stuck && frame.frame.number > 1) continue;
      if (w.receiver.accept(frame.frame.number) != channel_receiver::verdict::deliver) continue;
      w.receiver.applied(frame.frame.number);
      if (const auto* h = std::get_if<wire::welcome>(&frame.frame.body)) w.lease.welcomed(w.hello_sent, h->lease);
      w.got.push_back(frame.frame.body);
    }
  }

  void enrolled(const std::string& name, std::map<std::string, std::string> labels = {}) {
    if (!f->enrol(name, key_of(name), std::move(labels), now)) throw std::logic_error("cannot enrol " + name);
    settle();
  }
  wire::hello hello_of(const std::string& name, std::uint32_t slots, std::map<std::string, std::string> labels = {}) {
    wire::hello h;
    h.software = "0.1.0";
    h.boot_id = "boot-of-" + name;
    h.state_id = "state-of-" + name;
    h.incarnation = id_of<incarnation_id>(100);
    h.slots = slots;
    h.labels = std::move(labels);
    h.level = containment::cgroup_pidns;
    h.absence_is_proof = true;
    h.host = name + ".example";
    return h;
  }
  /// Sends a hello over a fresh connection with a fresh session id; returns the worker's side of it.
  far_worker& says_hello(const std::string& name, wire::hello h, const std::string& place = "") {
    pass(2ms);
    far_worker w;
    w.name = name;
    w.key = key_of(name);
    w.route = "route-" + std::to_string(++ids);
    h.proposed = session_id{make_uuid7(now.wall, {static_cast<std::uint8_t>(ids)})};
    w.hello = h;
    w.hello_sent = now.boot;
    auto& mine = far[name + place];
    const auto lease = mine.lease;
    mine = w;
    mine.lease = lease;
    repeats_hello(name + place);
    return mine;
  }
  void repeats_hello(const std::string& who) {
    far_worker& w = far.at(who);
    f->frame(w.route, w.key, wire::envelope{w.session(), 0, 0, w.hello}, now);
    settle();
  }
  far_worker& worker_joins(const std::string& name, std::uint32_t slots = 2,
                           std::map<std::string, std::string> labels = {}) {
    if (!f->knows(name)) enrolled(name);
    auto& w = says_hello(name, hello_of(name, slots, std::move(labels)));
    acknowledges(name);
    return w;
  }
  void says(const std::string& who, wire::message body, std::uint64_t number = 0) {
    far_worker& w = far.at(who);
    f->frame(w.route, w.key, wire::envelope{w.session(), number, w.receiver.ack(), std::move(body)}, now);
  }
  void acknowledges(const std::string& who) {
    says(who, wire::acknowledge{});
    settle();
  }
  void beats(const std::string& who) {
    far_worker& w = far.at(who);
    w.lease.sent(++w.beats, now.boot);
    says(who, wire::worker_heartbeat{w.beats, w.receiver.ack()});
    settle();
  }
  void reports(const std::string& who, wire::message body) {
    says(who, std::move(body), ++far.at(who).sent);
    settle();
  }

  requirement needs(std::uint32_t slots = 1) const {
    requirement r;
    r.slots = slots;
    return r;
  }
  operation_id queued(const requirement& need, std::optional<milliseconds> lease = {}) {
    const auto id = ledger.add(need, id_of<operation_id>(++ids + 100'000), lease);
    f->enqueue(need, {id});
    return id;
  }
  void place() {
    while (f->place(now)) take();
    settle();
  }
  operation_id placed(const requirement& need, std::optional<milliseconds> lease = {}) {
    const auto id = queued(need, lease);
    place();
    return id;
  }
  void ends(const operation_id& id) {
    const auto slots = ledger.tasks.at(id).need.slots;
    if (const auto worker = ledger.finish(id)) f->slots_freed(*worker, slots, now);
    settle();
  }
  std::optional<std::string> where(const operation_id& id) const { return ledger.tasks.at(id).worker; }
  void stops(const std::vector<std::string>& workers, std::uint64_t seq) {
    wire::stop s;
    s.seq = seq;
    f->send_stop({workers, s}, now);
    take();
  }
  worker_view see(const std::string& name) const { return f->worker(name, now).value(); }
  std::string status_of(const std::string& name) const { return std::string(name_of(see(name).status)); }
  std::size_t event_count(const std::string& event) const {
    const auto types = ledger.event_types();
    return static_cast<std::size_t>(std::count(types.begin(), types.end(), event));
  }
};

} // namespace quell::controller::test
