// Placement under random work, workers that come and go, cancels and ends: the invariants after every step.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "tests/controller/fleet/fleet_world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

requirement some_requirement() {
  requirement r;
  r.slots = *rc::gen::inRange<std::uint32_t>(0, 4);
  if (*rc::gen::inRange(0, 4) == 0) r.on = {{"gpu", "1"}};
  if (*rc::gen::inRange(0, 6) == 0) r.worker = "w" + std::to_string(*rc::gen::inRange(1, 5));
  return r;
}

/// Everything placed since the last check, compared with the state at its placement.
struct placement_watch {
  fleet_world& c;
  std::map<requirement, std::vector<operation_id>> order; ///< as enqueued
  std::map<operation_id, bool> seen;

  void check_new() {
    for (const auto& [id, t] : c.ledger.tasks) {
      if (!t.worker || seen[id]) continue;
      seen[id] = true;
      const auto view = c.see(*t.worker);
      RC_ASSERT(view.status == worker_status::ready);
      if (t.need.worker) RC_ASSERT(*t.need.worker == *t.worker);
      for (const auto& [key, value] : t.need.on) RC_ASSERT(view.record.labels.at(key) == value);
    }
    for (const auto& name : {"w1", "w2", "w3", "w4"}) {
      if (!c.f->knows(name)) continue;
      RC_ASSERT(c.ledger.slots_on(name) <= c.see(name).record.slots);
    }
    // First in, first out: nothing of the same requirement was placed after a task that still waits.
    for (const auto& [need, ids] : order) {
      bool one_waits = false;
      for (const auto& id : ids) {
        const auto& t = c.ledger.tasks.at(id);
        if (t.pending)
          one_waits = true;
        else if (t.worker)
          RC_ASSERT(!one_waits || !fresh(id));
      }
    }
    last_ = seen;
  }
  bool fresh(const operation_id& id) const { return !last_.count(id) || !last_.at(id); }
  std::map<operation_id, bool> last_;
};

} // namespace

TEST_CASE("capacity is never exceeded, order is kept, and nothing goes to a worker that takes no work") {
  REQUIRE(rc::check([] {
    fleet_world c;
    placement_watch watch{c, {}, {}, {}};
    for (const auto& name : {"w1", "w2", "w3", "w4"}) c.enrolled(name);
    std::vector<operation_id> all;
    const int steps = *rc::gen::inRange(1, 120);
    for (int i = 0; i < steps; ++i) {
      const std::string name = "w" + std::to_string(*rc::gen::inRange(1, 5));
      const bool connected = c.f->session_of_key(key_of(name)).has_value();
      switch (*rc::gen::inRange(0, 10)) {
      case 0:
        if (!connected && c.ledger.slots_on(name) == 0)
          c.worker_joins(name, *rc::gen::inRange<std::uint32_t>(0, 6),
                         *rc::gen::arbitrary<bool>() ? std::map<std::string, std::string>{{"gpu", "1"}}
                                                     : std::map<std::string, std::string>{});
        break;
      case 1:
        (void)c.f->drain(name, "", {}, worker_tasks::go_on, c.now);
        break;
      case 2:
        (void)c.f->resume(name, c.now);
        break;
      case 3:
        c.silence(milliseconds(*rc::gen::inRange(1, 1500)));
        break;
      case 4:
        for (const auto& [other, w] : c.far) c.beats(other);
        break;
      case 5:
        if (!all.empty()) c.ledger.tasks.at(all[*rc::gen::inRange<std::size_t>(0, all.size())]).pending = false;
        break;
      case 6:
      case 7:
        if (!all.empty()) c.ends(all[*rc::gen::inRange<std::size_t>(0, all.size())]);
        break;
      default: {
        const auto need = some_requirement();
        all.push_back(c.queued(need));
        watch.order[need].push_back(all.back());
      }
      }
      c.settle();
      c.place();
      watch.check_new();
      for (const auto& [other, w] : c.far)
        if (c.f->session_of_key(w.key) == w.session()) c.acknowledges(other);
    }
  }));
}

TEST_CASE("every task that some worker could take starts in the end, whatever else is queued") {
  REQUIRE(rc::check([] {
    fleet_world c;
    c.worker_joins("w1", 3);
    c.worker_joins("w2", 2, {{"gpu", "1"}});
    std::vector<operation_id> all, running;
    const int initial = *rc::gen::inRange(1, 30);
    for (int i = 0; i < initial; ++i) {
      requirement need;
      need.slots = *rc::gen::inRange<std::uint32_t>(0, 4);
      if (need.slots < 3 && *rc::gen::arbitrary<bool>()) need.on = {{"gpu", "1"}};
      all.push_back(c.queued(need));
    }
    // New small work comes for each task that ends, forever.
    const auto waiting = [&] {
      return std::any_of(all.begin(), all.end(), [&](const auto& id) { return !c.where(id); });
    };
    int rounds = 0;
    for (; waiting() && rounds < 4000; ++rounds) {
      c.place();
      c.acknowledges("w1");
      c.acknowledges("w2");
      running.clear();
      for (const auto& [id, t] : c.ledger.tasks)
        if (t.worker && t.live) running.push_back(id);
      if (running.empty()) break;
      c.ends(running[*rc::gen::inRange<std::size_t>(0, running.size())]);
      c.queued(c.needs(1));
    }
    RC_ASSERT(!waiting());
  }));
}
