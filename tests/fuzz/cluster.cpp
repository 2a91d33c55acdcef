// The honest half of the cluster, and the promises about everything that leaves the core.
#include "tests/fuzz/cluster.hpp"

#include "controller/commands/command_request.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/order_cancel.hpp"

namespace quell::fuzz {

using namespace std::chrono_literals;
using namespace quell::controller;

namespace {

constexpr std::size_t longest_text = 8192;

/// A worker's text in a row is short, however long the worker's message was.
void check_texts(const records::entry& e) {
  if (const auto* u = std::get_if<records::update_operation>(&e)) {
    expect(!u->hot.error || u->hot.error->message.size() <= longest_text, "an error message in the store is short");
    expect(!u->hot.error || u->hot.error->code.size() <= 64, "an error code in the store is short");
    expect(!u->hot.exit || !u->hot.exit->signal || u->hot.exit->signal->size() <= 64, "a signal's name is short");
    expect(u->hot.late.size() <= longest_text, "late evidence is short");
  } else if (const auto* w = std::get_if<records::put_worker>(&e)) {
    expect(w->record.version.size() + w->record.address.size() + w->record.boot_id.size() + w->record.state_id.size() <=
               longest_text,
           "what a worker says of itself is short");
    expect(w->record.labels.size() <= 64 && w->record.containment_limits.size() <= 64, "a worker has few labels");
  } else if (const auto* v = std::get_if<records::put_event>(&e)) {
    expect(v->record.data.size() <= 4 * longest_text, "an event is short");
  }
}

} // namespace

std::uint64_t recorder::submit(std::vector<records::entry> batch) {
  for (const auto& e : batch) check_texts(e);
  return ++tickets;
}

void recorder::publish(const records::event_record& event) {
  if (ends_operation(event.type) && event.operation)
    expect(++terminal_events[*event.operation] == 1, "an operation ends once");
}

cluster::cluster() {
  records::recovered_state empty;
  empty.cluster = id_number<cluster_id>(9);
  empty.epoch = 1;
  for (const auto& [name, key] : {std::pair{"w1", honest_key}, {"w2", hostile_key}}) {
    records::worker_record w;
    w.name = name;
    w.public_key = key;
    empty.workers.push_back(w);
  }
  records::worker_record absent;
  absent.name = "w3";
  absent.public_key = std::string(40, 'c');
  empty.workers.push_back(absent);
  commit_gate_settings s;
  s.token_for = [](const operation_id&) { return std::string("qt_test"); };
  core = std::make_unique<commit_gate>(s, std::move(empty), edges, now);
  settle();
  core->frame(honest_route, honest_key, {honest_session, 0, 0, hello(honest_session, "state of w1")}, now);
  core->frame(hostile_route, hostile_key, {hostile_session, 0, 0, hello(hostile_session, "state of w2")}, now);
  settle();
}

wire::hello cluster::hello(session_id session, const char* state) const {
  wire::hello h;
  h.boot_id = "boot";
  h.state_id = state;
  h.incarnation = id_number<incarnation_id>(7);
  h.proposed = session;
  h.slots = 8;
  h.level = containment::cgroup_pidns;
  h.absence_is_proof = true;
  return h;
}

void cluster::settle() {
  core->end_burst(now);
  for (std::uint64_t done = ~std::uint64_t{0}; done != edges.tickets;) {
    done = edges.tickets;
    core->committed({done, {}}, now);
    deliver_to_honest();
    core->end_burst(now);
  }
}

void cluster::deliver_to_honest() {
  for (; read_ < edges.sent.size(); ++read_) {
    const auto frame = edges.sent[read_];
    if (frame.route != honest_route) continue;
    expect(frame.frame.session == honest_session, "w1 gets frames of its own session only");
    expect(!std::holds_alternative<wire::refuse>(frame.frame.body), "w1 is not refused for what w2 does");
    if (frame.frame.number == 0 || honest_received.accept(frame.frame.number) != channel_receiver::verdict::deliver)
      continue;
    honest_received.applied(frame.frame.number);
    honest_got.push_back(frame.frame.body);
    if (const auto* start = std::get_if<wire::start>(&frame.frame.body))
      honest(wire::task_started{start->operation, 100, now.wall, containment::cgroup_pidns});
    else
      honest(wire::acknowledge{}, false);
  }
}

void cluster::pass(milliseconds time) {
  // In steps shorter than the silence that w1's session tolerates, so that it stays alive.
  while (time > 0ms) {
    const auto step = std::min(time, milliseconds{2000});
    time -= step;
    now.boot = now.boot + step;
    now.wall += step;
    honest(wire::worker_heartbeat{++beats, honest_received.ack()}, false);
    core->tick(now);
    settle();
  }
}

void cluster::hostile(const wire::envelope& frame, const char* route) { core->frame(route, hostile_key, frame, now); }

void cluster::honest(wire::message body, bool numbered) {
  const std::uint64_t number = numbered ? ++honest_sent : 0;
  core->frame(honest_route, honest_key, {honest_session, number, honest_received.ack(), std::move(body)}, now);
}

void cluster::create(std::uint8_t id, const char* scope, const char* worker, std::uint8_t parent) {
  create_order o;
  o.by.role = role::admin;
  o.scope = *scope_path::parse(scope);
  o.task.command = {"true"};
  o.task.worker = worker;
  if (parent != 0) o.parent = id_number<operation_id>(parent);
  core->execute({commands::create_operation{std::move(o), id_number<operation_id>(id)},
                 [](const auto& answer) { expect(answer.has_value(), "a create is taken"); }},
                now);
  settle();
}

void cluster::cancel(const char* scope) {
  cancel_order o;
  o.by_token.role = role::admin;
  o.target = records::target_scope{*scope_path::parse(scope)};
  o.received = now.boot;
  core->execute({commands::order_cancel{std::move(o), id_number<cancel_id>(50)},
                 [](const auto& answer) { expect(answer.has_value(), "a cancel is taken"); }},
                now);
  settle();
}

std::optional<live_view> cluster::view(std::uint8_t id) {
  return core->operations().view(id_number<operation_id>(id), now);
}

worker_view cluster::worker(const char* name) {
  const auto view = core->workers().worker(name, now);
  expect(view.has_value(), "an enrolled worker is known");
  return *view;
}

} // namespace quell::fuzz
