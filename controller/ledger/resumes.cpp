// Actors of an earlier life: which turns go on after a restart, and which operations end with it.
//
// A turn goes on with its sub-agents and their calls: the scheduler adopts what still runs and asks the model again.
// Its model calls end, because their connections are gone. Work that was stopped before the crash ends as stopped.
#include <algorithm>
#include <set>
#include <utility>

#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

namespace {

/// A turn that ends quelld each time it goes on must not do so for ever.
constexpr std::uint8_t most_resumes = 3;
/// Nor must one that only waits, and ends quelld before it has its agent again. Far more than the kills from outside
/// that come so early.
constexpr std::uint8_t most_waits = 30;

bool is_actor_kind(kind what) {
  return what == kind::turn || what == kind::model_call || what == kind::tool_call || what == kind::sub_agent ||
         what == kind::exchange;
}

} // namespace

std::vector<operation_id> live_ledger::interrupted() { return std::exchange(interrupted_, {}); }

/// True if this turn or sub-agent lost nothing with the process: each thing below it that had begun waits for a human.
bool live_ledger::only_waits(index x) const {
  bool is_requested = false;
  for (index c = operations_[x].first_child; c != none; c = operations_[c].next_sibling) {
    const operation_node& child = operations_[c];
    // A task needs no actor: its worker runs it.
    if (child.is_over() || !child.has_begun() || child.detached || child.kind == quell::kind::task) continue;
    const bool waits = child.kind == quell::kind::tool_call && !stop_of(c) &&
                       (child.now == status::paused ? !asks_for_server(c) : spawned_and_waits(c));
    if (!waits) return false;
    is_requested = true;
  }
  return is_requested;
}

/// True if the call runs a sub-agent that only waits.
bool live_ledger::spawned_and_waits(index call) const {
  bool waits = false;
  for (index c = operations_[call].first_child; c != none; c = operations_[c].next_sibling) {
    if (operations_[c].kind != quell::kind::sub_agent || operations_[c].is_over()) continue;
    if (!only_waits(c)) return false;
    waits = true;
  }
  return waits;
}

/// Whether the turn goes on in this life; counts that, durably, before its agent runs. A wait is not a resume, however
/// often the process ends before the turn has its agent again.
bool live_ledger::goes_on(index turn) {
  operation_node& n = operations_[turn];
  if (n.kind != quell::kind::turn || !n.has_begun() || n.is_over() || stop_of(turn)) return false;
  // Work of a restored backup can have gone on elsewhere since. Nobody listens to an exchange that broke.
  const index above = operation_parent(turn);
  if (n.seq < restored_below_ || (above != none && operations_[above].kind == quell::kind::exchange)) return false;
  if (only_waits(turn)) {
    if (n.waits >= most_waits) return false;
    ++n.waits;
  } else {
    if (n.resumes >= most_resumes) return false;
    ++n.resumes;
    n.waits = 0;
  }
  write_row(turn);
  return true;
}

bool live_ledger::resume(const operation_id& id) {
  const index x = find(id);
  if (x == none) return true;
  operation_node& n = operations_[x];
  if (n.kind != quell::kind::turn) return !only_waits(x);
  if (n.waits == 0) return true;
  n.waits = 0; // what it waited for may be over by now: it lost nothing all the same
  write_row(x);
  return false;
}

/// The agents that go on, with their calls: everything else that was an actor ends.
void live_ledger::interrupt_actors(moment now) {
  std::vector<index> actors;
  operations_.each_in_scope(scope_tree::root, [&](index x) {
    if (is_actor_kind(operations_[x].kind) && !operations_[x].is_over()) actors.push_back(x);
  });
  std::sort(actors.begin(), actors.end(), [&](index a, index b) { return operations_[a].seq < operations_[b].seq; });
  std::set<index> kept; // parents come before their children
  std::vector<std::pair<std::uint64_t, index>> gone;
  for (const index x : actors) {
    const operation_node& n = operations_[x];
    const index parent = operation_parent(x);
    const bool belongs =
        parent != none && kept.contains(parent) && !stop_of(x) &&
        (n.kind == quell::kind::sub_agent || (n.kind == quell::kind::tool_call && !asks_for_server(x)));
    // Work that was still waiting in a backup can have run since, so it must not run again.
    if (goes_on(x) || belongs)
      kept.insert(x);
    else if (n.has_begun() || n.seq < restored_below_)
      gone.emplace_back(n.seq, x);
  }
  for (auto at = gone.rbegin(); at != gone.rend(); ++at) {
    const auto [seq, x] = *at;
    if (!is_same(x, seq) || operations_[x].is_over()) continue;
    const bool is_agent = operations_[x].kind == quell::kind::turn || operations_[x].kind == quell::kind::sub_agent;
    if (is_agent) interrupted_.insert(interrupted_.begin(), operations_[x].id);
    interrupt(x, now);
  }
}

void live_ledger::interrupt_below(const operation_id& id, moment now) {
  const index top = find(id);
  if (top == none) return;
  std::vector<std::pair<std::uint64_t, index>> all{{operations_[top].seq, top}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (index c = operations_[all[i].second].first_child; c != none; c = operations_[c].next_sibling)
      if (is_actor_kind(operations_[c].kind) && !operations_[c].detached) all.emplace_back(operations_[c].seq, c);
  for (std::size_t i = all.size() - 1; i > 0; --i) {
    const auto [seq, x] = all[i];
    if (is_same(x, seq) && !operations_[x].is_over() && operations_[x].has_begun()) interrupt(x, now);
  }
}

/// All of them are under the stop that the end of `id`, or a stop before it, has given them.
void live_ledger::end_calls_of_dead(const operation_id& id, moment now) {
  const index top = find(id);
  if (top == none) return;
  std::vector<std::pair<std::uint64_t, index>> calls;
  for (index c = operations_[top].first_child; c != none; c = operations_[c].next_sibling)
    if (operations_[c].kind == quell::kind::tool_call || operations_[c].kind == quell::kind::model_call)
      calls.emplace_back(operations_[c].seq, c);
  for (const auto& [seq, x] : calls) {
    if (!is_same(x, seq) || operations_[x].is_over() || !operations_[x].has_begun()) continue;
    if (operations_[x].is_of_server && !is_unasked(x)) details(x).works_elsewhere = true;
    interrupt(x, now);
  }
}

/// A human is asked whether it may run, or was when its stop came: nobody has it.
bool live_ledger::is_unasked(index x) const {
  const operation_node& n = operations_[x];
  return n.is_stopped() ? n.details->is_unasked : n.now == status::paused && !asks(x);
}

bool live_ledger::works_elsewhere(index x) const {
  const auto& d = operations_[x].details;
  return d && d->works_elsewhere;
}

/// Ends an operation whose actor is gone.
void live_ledger::interrupt(index x, moment now) {
  if (const auto stop = stop_of(x)) {
    if (!operations_[x].is_stopped()) set_stop(x, *stop, announce::no, now);
    if (works_elsewhere(x)) // its actor is gone; what somebody else does for it is not
      end_own_work(x, stopped_end(x, receipt::unconfirmed, proof::none), now);
    else
      end_own_work(x, stopped_end(x, receipt::killed, proof::internal), now);
    return;
  }
  if (operations_[x].kind == quell::kind::tool_call)
    close_call(x, operations_[x].now == status::paused && !asks(x) ? interrupted_before_start() : interrupted_call());
  for (index c = operations_[x].first_child; c != none; c = operations_[c].next_sibling)
    if (operations_[c].kind == quell::kind::tool_call && operations_.never_sent(c))
      close_call(c, interrupted_before_start());
  asks_no_more(x, now);
  end_own_work(x,
               {status::failed,
                {},
                works_elsewhere(x) ? proof::none : proof::internal,
                {},
                records::own_error(failure_code::interrupted, "the controller was restarted while it ran"),
                {},
                "interrupted"},
               now);
}

} // namespace quell::controller::live

namespace quell::controller {

resumed_agents& resumed_of(ledger& l) { return static_cast<live::live_ledger&>(l); }

} // namespace quell::controller
