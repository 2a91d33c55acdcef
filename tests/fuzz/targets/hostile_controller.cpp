// Any frames from the controller's side into a worker's session and task table, with a guardian that obeys: no task
// runs twice, none runs that was stopped before its go, and a worker that is told to leave becomes empty.
#include <algorithm>
#include <map>

#include "protocol/codec.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"
#include "worker/controller_session.hpp"
#include "worker/task_table.hpp"

namespace quell::fuzz {
namespace {

using namespace std::chrono_literals;
using namespace quell::worker;

constexpr std::size_t most_tasks = 40;

/// A guardian in two maps: the cloned tasks, and those of them that execute.
struct play {
  moment now{wall_time{1'795'000'000'000ms}, boot_time{1'000'000'000'000}};
  controller_session session{membership{}};
  task_table table{task_table::settings{4, containment::cgroup_pidns, most_tasks, 100, 168h}, session.lease()};
  std::uint8_t sessions = 0;
  std::map<operation_id, bool> alive; ///< and whether it executes
  std::map<operation_id, int> spawned, gone;
  std::vector<operation_id> finishing;

  void perform(effects list) {
    for (auto& e : list) {
      if (auto* s = std::get_if<spawn_task>(&e)) {
        expect(++spawned[s->order.operation] == 1, "no task is spawned twice");
        alive[s->order.operation] = false;
      } else if (auto* g = std::get_if<let_go>(&e)) {
        expect(++gone[g->operation] == 1, "no task is let go twice");
        expect(alive.contains(g->operation), "what is let go was held");
        alive[g->operation] = true;
        table.go_result(g->operation, true, now);
      } else if (auto* f = std::get_if<finish_output>(&e)) {
        finishing.push_back(f->operation);
      } else if (auto* t = std::get_if<tell>(&e)) {
        session.tell(std::move(t->body), now.boot);
      }
    }
    for (const auto& id : std::exchange(finishing, {})) {
      effects more;
      table.output_finished(id, {}, now, more);
      perform(std::move(more));
    }
    effects more;
    table.pump(now, 8, more);
    if (!more.empty()) perform(std::move(more));
  }
  void hears(const guardian_event& event) {
    effects out;
    table.hear(event, now, out);
    perform(std::move(out));
  }
  void drain_outbox() {
    session.acknowledge();
    while (const auto* frame = session.next_frame()) {
      expect(wire::decode(wire::encode(*frame)).has_value(), "what a worker sends can be read");
      session.sent();
    }
  }
  void greet() {
    wire::hello h;
    h.proposed = id_number<session_id>(static_cast<std::uint8_t>(100 + sessions++ % 8));
    const auto late = table.describe(h);
    for (const auto& living : alive) {
      const auto& id = living.first;
      expect(std::any_of(h.inventory.begin(), h.inventory.end(), [&](const auto& i) { return i.operation == id; }),
             "what lives stands in the inventory");
    }
    session.greet(std::move(h), now.boot);
    for (const auto& m : late) session.tell(m, now.boot);
  }
  void applies(std::optional<wire::message> message) {
    if (!message) return;
    effects out;
    if (auto* start = std::get_if<wire::start>(&*message))
      table.start(std::move(*start), now, out);
    else if (auto* stop = std::get_if<wire::stop>(&*message))
      table.stop(*stop, now, out);
    else if (auto* stored = std::get_if<wire::results_stored>(&*message))
      table.results_stored(*stored);
    perform(std::move(out));
    session.applied();
  }
  void dies(const operation_id& id, task_ended_here::force sent) {
    const bool executed = alive.at(id);
    alive.erase(id);
    std::optional<exit_state> exit;
    if (executed) {
      exit = sent == task_ended_here::force::nothing ? exit_state{0, std::nullopt} : exit_state{std::nullopt, "KILL"};
      hears(task_leader_exited{id, *exit});
    }
    hears(task_ended_here{id, exit, sent, proof::cgroup_empty});
  }
};

operation_id some_operation(choices& from) {
  return id_number<operation_id>(static_cast<std::uint8_t>(1 + from.below(12)));
}
scope_path some_scope(choices& from) {
  static const char* const all[] = {"a", "a/b", "a/b/c", "b", "quell/mcp/x"};
  return *scope_path::parse(all[from.below(5)]);
}
milliseconds some_time(choices& from) {
  return milliseconds{static_cast<std::int64_t>(from.count() % (wire::max_duration.count() + 1ULL))};
}

wire::message some_message(choices& from) {
  switch (from.below(9)) {
  case 0:
    return wire::welcome{static_cast<std::uint32_t>(from.below(8) != 0 ? 1 : 2),
                         id_number<cluster_id>(9),
                         from.count(),
                         from.text(),
                         some_time(from),
                         some_time(from)};
  case 1:
    return wire::refuse{from.yes() ? "lease_held" : from.text(), from.text(), some_time(from)};
  case 2:
    return wire::lease_granted{from.count(), some_time(from)};
  case 3: {
    wire::stop s;
    s.seq = from.count();
    if (from.yes()) s.scope = some_scope(from);
    s.cutoff = from.count();
    for (auto left = from.below(4); left > 0; --left) s.operations.push_back(some_operation(from));
    if (from.yes()) s.grace = some_time(from);
    return s;
  }
  case 4:
    return wire::results_stored{{some_operation(from), some_operation(from)}};
  case 5:
    return from.yes() ? wire::message(wire::handover{some_time(from)}) : wire::message(wire::acknowledge{from.yes()});
  case 6:
    return sample_frames()[from.below(16)].body;
  default: {
    wire::start s;
    s.operation = s.root = some_operation(from);
    s.seq = from.count();
    s.as_of = from.count();
    s.scope = some_scope(from);
    for (auto left = from.below(3); left > 0; --left) s.ancestors.push_back(some_operation(from));
    if (from.yes()) s.spec.command = {"true"};
    s.spec.slots = static_cast<std::uint32_t>(from.below(6));
    s.spec.pty = from.yes();
    s.spec.leader_exit = from.word<on_leader_exit>(2);
    if (from.yes()) s.spec.lease = some_time(from);
    s.grace = some_time(from);
    return s;
  }
  }
}

void act(play& p, choices& from, std::uint64_t& number) {
  switch (from.below(10)) {
  case 0:
    if (auto frame = wire::decode(from.piece())) p.applies(p.session.receive(std::move(*frame), p.now.boot));
    return;
  case 1: {
    const milliseconds step{from.below(250) * 10};
    p.now.boot = p.now.boot + step;
    p.now.wall += step;
    p.session.tick(p.now.boot);
    effects out;
    p.table.tick(p.now, out);
    return p.perform(std::move(out));
  }
  case 2:
    if (p.session.hello_due(p.now.boot)) {
      p.greet();
      number = 0;
    }
    return;
  case 3:
  case 4: { // the guardian reports an event of one of its tasks
    if (p.alive.empty()) return;
    auto at = std::next(p.alive.begin(), static_cast<std::ptrdiff_t>(from.below(p.alive.size())));
    const auto id = at->first;
    switch (from.below(4)) {
    case 0:
      return p.hears(task_held{id, 4242});
    case 1:
      if (at->second) p.hears(task_executing{id});
      return;
    case 2:
      return p.hears(task_still_there{id, unproven_why::stuck_in_kernel, 1, {{17, "D", "x"}}, std::nullopt});
    default:
      return p.dies(id, from.word<task_ended_here::force>(4));
    }
  }
  case 5:
    return p.drain_outbox();
  default: {
    wire::envelope frame;
    frame.session = id_number<session_id>(static_cast<std::uint8_t>(100 + (p.sessions + 7) % 8));
    if (from.below(8) == 0) frame.session = id_number<session_id>(static_cast<std::uint8_t>(100 + from.below(8)));
    frame.number = from.below(4) != 0 ? ++number : from.count();
    frame.ack = from.below(4) != 0 ? 0 : from.count();
    frame.body = some_message(from);
    p.applies(p.session.receive(std::move(frame), p.now.boot));
  }
  }
}

void run(std::string_view bytes) {
  play p;
  choices from(bytes);
  std::uint64_t number = 0;
  p.greet();
  for (int steps = 0; steps < 300 && !from.at_end(); ++steps) act(p, from, number);
  // The worker is told to leave: whatever happened before, everything ends and nothing is forgotten.
  effects out;
  p.table.leave(p.now, worker::task_table::departure::immediate, out);
  p.perform(std::move(out));
  while (!p.alive.empty()) {
    const auto id = p.alive.begin()->first;
    p.dies(id, task_ended_here::force::killed);
  }
  expect(p.table.live() == 0 && p.table.slots_used() == 0, "a worker that leaves gets empty");
  p.greet();
  p.drain_outbox();
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = {""};
  const auto frame_of = [](choice_writer& w, const wire::message& body, std::uint64_t number) {
    w.byte(0).piece(wire::encode(wire::envelope{id_number<session_id>(100), number, 0, body}));
  };
  const auto samples = sample_frames();
  choice_writer life;
  std::uint64_t number = 0;
  for (const std::size_t i : {7U, 10U, 9U, 14U, 11U, 12U, 13U}) {
    frame_of(life, samples[i].body, ++number);
    life.byte(3).byte(0).byte(0).byte(3).byte(0).byte(1).byte(5).byte(1).byte(100);
  }
  life.byte(3).byte(0).byte(3).byte(2);
  all.push_back(life.done());
  for (const auto& sample : samples) {
    choice_writer one;
    frame_of(one, samples[7].body, 1);
    frame_of(one, sample.body, 2);
    all.push_back(one.done());
  }
  for (std::size_t kind = 0; kind < 9; ++kind) {
    choice_writer one;
    frame_of(one, samples[7].body, 1);
    one.byte(6).byte(1).byte(1).byte(1).byte(kind).raw(std::string(60, '\1'));
    all.push_back(one.done());
  }
  return all;
}

const known_target known("hostile_controller", run, seeds);

} // namespace
} // namespace quell::fuzz
