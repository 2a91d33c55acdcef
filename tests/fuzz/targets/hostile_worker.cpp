// An enrolled worker that sends any frames to the controller's core: the other worker's work runs on, stops when it is
// cancelled, and is counted once.
#include "protocol/codec.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/cluster.hpp"

namespace quell::fuzz {
namespace {

using namespace std::chrono_literals;

// Operations: 1 and 6 (below it) in scope a/x and 2 in b run on w1; 3 in c and 4 (below 1, in a/x) run on w2; 5 waits
// for w3, which never comes.
constexpr std::uint8_t most_operation = 8; // 7 and 8 do not exist

operation_id some_operation(choices& from) {
  return id_number<operation_id>(static_cast<std::uint8_t>(1 + from.below(most_operation)));
}

wall_time some_instant(choices& from) {
  const auto most = static_cast<std::uint64_t>(wire::max_instant.time_since_epoch().count());
  return wall_time{milliseconds{static_cast<std::int64_t>(from.count() % (most + 1))}};
}

std::string some_text(choices& from) {
  const auto kind = from.below(4);
  if (kind == 0) return {};
  if (kind == 1) return std::string(from.count() % 50'000, 'x');
  return from.text();
}

wire::task_ended some_end(choices& from) {
  wire::task_ended m;
  m.operation = some_operation(from);
  m.stop_seq = from.count();
  if (from.yes()) m.how = from.word<receipt>(count_of<receipt>());
  m.evidence = from.word<proof>(count_of<proof>());
  if (from.yes()) {
    m.exit.emplace();
    if (from.yes()) m.exit->code = from.number<std::int32_t>();
    if (from.yes()) m.exit->signal = some_text(from);
  }
  if (from.yes()) m.error_code = from.yes() ? "worker_lost" : some_text(from);
  m.error_message = some_text(from);
  m.started_at = some_instant(from);
  m.ended_at = some_instant(from);
  m.output = {from.count(), from.count(), from.count()};
  m.left_total = from.number<std::uint32_t>();
  for (auto n = from.count() % 4; n > 0; --n)
    m.left.push_back({from.number<std::int32_t>(), some_text(from), some_text(from)});
  return m;
}

wire::hello some_hello(choices& from) {
  wire::hello h;
  h.version = from.yes() ? 1 : static_cast<std::uint32_t>(from.count());
  h.software = some_text(from);
  if (from.yes()) h.cluster = id_number<cluster_id>(static_cast<std::uint8_t>(8 + from.below(2)));
  h.epoch_seen = from.count();
  h.seq_seen = from.count();
  h.boot_id = from.yes() ? "boot" : some_text(from);
  h.state_id = from.yes() ? "state of w2" : some_text(from);
  h.incarnation = id_number<incarnation_id>(static_cast<std::uint8_t>(from.below(9)));
  h.proposed = id_number<session_id>(static_cast<std::uint8_t>(100 + from.below(8)));
  h.slots = static_cast<std::uint32_t>(from.count());
  if (from.yes()) h.labels[some_text(from)] = some_text(from);
  h.level = from.word<containment>(count_of<containment>());
  if (from.yes()) h.containment_limits.push_back(some_text(from));
  h.host = some_text(from);
  for (auto left = from.below(6); left > 0; --left)
    h.inventory.push_back({some_operation(from), from.word<wire::task_phase>(3), from.number<std::int32_t>(),
                           some_instant(from), from.count()});
  for (auto left = from.below(4); left > 0; --left) h.results.push_back(some_end(from));
  return h;
}

wire::message some_message(choices& from) {
  switch (from.below(10)) {
  case 0:
    return some_hello(from);
  case 1:
    return wire::worker_heartbeat{from.count(), from.count()};
  case 2:
    return wire::task_started{some_operation(from), from.number<std::int32_t>(), some_instant(from),
                              from.word<containment>(count_of<containment>())};
  case 3:
    return wire::task_stopping{some_operation(from), from.count(), some_instant(from), some_instant(from)};
  case 4:
    return wire::task_unproven{some_operation(from),
                               from.word<unproven_why>(count_of<unproven_why>()),
                               some_instant(from),
                               from.number<std::uint32_t>(),
                               {{from.number<std::int32_t>(), some_text(from), some_text(from)}},
                               from.word<next_action>(count_of<next_action>()),
                               some_instant(from)};
  case 5:
    return wire::farewell{some_text(from)};
  case 6:
    return wire::acknowledge{from.yes()};
  case 7:
    return sample_frames()[from.below(16)].body;
  default:
    return some_end(from);
  }
}

void act(cluster& c, choices& from, std::uint64_t& number) {
  switch (from.below(8)) {
  case 0: // unstructured bytes
    if (const auto frame = wire::decode(from.piece())) c.hostile(*frame);
    return;
  case 1:
    return c.pass(milliseconds{from.below(250) * 10});
  case 2:
    return c.settle();
  default: {
    wire::envelope frame;
    frame.session = id_number<session_id>(static_cast<std::uint8_t>(from.below(4) != 0 ? 102 : 100 + from.below(8)));
    frame.number = from.below(4) != 0 ? ++number : from.count();
    frame.ack = from.below(4) != 0 ? from.below(8) : from.count();
    frame.body = some_message(from);
    c.hostile(frame, from.below(4) != 0 ? cluster::hostile_route : "another route of w2");
  }
  }
}

void untouched(cluster& c) {
  for (const std::uint8_t id : {1, 2, 6}) {
    const auto view = c.view(id);
    expect(view && view->hot.now == status::running && view->hot.worker == "w1", "work of w1 runs on");
    expect(!c.edges.terminal_events.contains(id_number<operation_id>(id)), "work of w1 has not ended");
  }
  const auto waiting = c.view(5);
  expect(waiting && waiting->hot.now == status::pending, "what waits for w3 still waits");
  const auto w1 = c.worker("w1");
  expect(w1.status == worker_status::ready && w1.slots_used == 3 && w1.operations_live == 3, "w1 is as it was");
  expect(c.worker("w2").slots_used <= 2, "w2 holds no more than it was given");
  for (const auto& m : c.honest_got) expect(!std::holds_alternative<wire::stop>(m), "w1 was told to stop nothing");
}

/// w1's work in scope a is cancelled; w2 is silent from then on, so its part ends with its lease.
void cancelled_as_ever(cluster& c) {
  const auto before = c.honest_got.size();
  c.cancel("a");
  std::size_t stops = 0;
  for (auto i = before; i < c.honest_got.size(); ++i) stops += std::holds_alternative<wire::stop>(c.honest_got[i]);
  expect(stops == 1, "w1 is told of the cancel once, at once");
  for (const std::uint8_t id : {6, 1}) {
    wire::task_ended end;
    end.operation = id_number<operation_id>(id);
    end.stop_seq = 1;
    end.how = receipt::terminated;
    end.evidence = proof::cgroup_empty;
    end.exit = exit_state{std::nullopt, "TERM"};
    end.started_at = end.ended_at = c.now.wall;
    c.honest(end);
  }
  c.settle();
  expect(!c.view(6), "what w1 has proven is over");
  c.pass(14s); // a lease of 10 s, 1 % and 1 s
  expect(!c.view(1) && !c.view(4), "the rest is over with the lease of w2");
  expect(c.core->operations().open_cancels(c.now).empty(), "the cancel is settled");
  expect(c.worker("w1").slots_used == 1 && c.worker("w2").slots_used <= 1, "slots are given back, and those alone");
  const auto spared = c.view(2);
  expect(spared && spared->hot.now == status::running, "what lies outside the cancel runs on");
}

void run(std::string_view bytes) {
  cluster c;
  c.create(1, "a/x", "w1");
  c.create(2, "b", "w1");
  c.create(3, "c", "w2");
  c.create(4, "a/x", "w2", 1);
  c.create(5, "d", "w3");
  c.create(6, "a/x/y", "w1", 1);
  choices from(bytes);
  std::uint64_t number = 0;
  for (int steps = 0; steps < 200 && !from.at_end(); ++steps) act(c, from, number);
  c.settle();
  untouched(c);
  cancelled_as_ever(c);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = {""};
  for (const auto& frame : sample_frames()) all.push_back(choice_writer().byte(0).piece(wire::encode(frame)).done());
  // One structured frame of each kind in the live session, then time.
  for (std::size_t kind = 0; kind < 10; ++kind)
    all.push_back(choice_writer()
                      .byte(3)
                      .byte(1)
                      .byte(1)
                      .byte(1)
                      .byte(2)
                      .byte(kind)
                      .raw(std::string(80, '\1'))
                      .byte(1)
                      .byte(200)
                      .done());
  std::string many;
  for (std::size_t kind = 1; kind < 10; ++kind)
    many += choice_writer()
                .byte(4)
                .byte(1)
                .byte(1)
                .byte(1)
                .byte(2)
                .byte(kind)
                .raw(std::string(20, static_cast<char>(kind)))
                .done();
  all.push_back(many);
  return all;
}

const known_target known("hostile_worker", run, seeds);

} // namespace
} // namespace quell::fuzz
