// Orders of people, tools and tasks, with the relevant part of the gateway: it looks into the committed store before it
// asks the core.
#include "tests/simulation/clients.hpp"

#include <algorithm>
#include <functional>

#include "controller/commands/command_request.hpp"
#include "controller/commands/create_operation.hpp"
#include "controller/commands/declare_dead.hpp"
#include "controller/commands/declare_worker_dead.hpp"
#include "controller/commands/drain_worker.hpp"
#include "controller/commands/end_externals.hpp"
#include "controller/commands/enrol_worker.hpp"
#include "controller/commands/find_session_stops.hpp"
#include "controller/commands/limit_slots.hpp"
#include "controller/commands/order_cancel.hpp"
#include "controller/commands/remove_worker.hpp"
#include "controller/commands/renew_externals.hpp"
#include "controller/commands/resume_worker.hpp"
#include "controller/commands/start_external.hpp"
#include "tests/simulation/world.hpp"

namespace quell::simulation {

using namespace quell::controller;

namespace {

const std::vector<scope_path>& scopes() {
  static const std::vector<scope_path> all = [] {
    std::vector<scope_path> made;
    for (const char* text : {"team", "team/a", "team/ab", "team/a/x", "team/a/x/y", "team/b", "ops", "op"})
      made.push_back(*scope_path::parse(text));
    return made;
  }();
  return all;
}
const std::vector<std::string> owners{"ann", "bob", "eve"};

/// One random report of an external operation's owner.
void say_of(commit_gate& c, const operation_id& id, std::uint64_t word, moment now) {
  const auto ends = [&](owner_report report) {
    c.execute({commands::end_externals{{std::move(report)}, {}}, {}}, now);
  };
  if (word == 0) ends({id, owner_word::complete, R"({"n":1})", {}});
  if (word == 1) ends({id, owner_word::fail, {}, records::operation_error{"error", "no"}});
  if (word == 2) ends({id, owner_word::stopped, {}, {}});
  if (word == 3) c.execute({commands::start_external{id, {}}, {}}, now);
  if (word >= 4) c.execute({commands::renew_externals{{{}, {id}, "runtime"}}, {}}, now);
  if (word == 5) c.execute({commands::find_session_stops{"runtime", {}}, {}}, now);
}

} // namespace

clients::clients(world& w) : world_(w), random_(w.plan.seed, 1000) {}

scope_path clients::scope_at(random_stream& r) const { return r.pick(scopes()); }

unsigned clients::depth_of(const operation_id& id) const {
  const auto at = depths_.find(id);
  return at == depths_.end() ? 0 : at->second;
}

operation_id clients::some_operation(random_stream& r) const {
  if (requested_.empty()) return id_of<operation_id>(wall_time{milliseconds{machine_clock::wall_base_ms}}, r.next());
  const auto newest = std::min<std::uint64_t>(requested_.size(), r.chance(600) ? 6 : 40);
  const auto& id = requested_[requested_.size() - 1 - r.below(newest)];
  // Until the controller has returned an id, only the client that chose it knows it.
  if (named_.contains(id) || world_.truth.stands(id)) return id;
  return id_of<operation_id>(world_.controller.now().wall, r.next());
}

void clients::fill(create_order& o, random_stream& r) {
  const auto& plan = world_.plan;
  o.by.role = o.by.task ? role::task : role::operator_;
  o.by.owner.id = o.by.owner.name = r.pick(owners);
  o.by.token_name = o.by.token_id = (plan.guilds.by_scope ? "service:of-" : "token-of-") + o.by.owner.id;
  o.kind = r.chance(30) ? kind::external : kind::task;
  if (r.chance(300)) o.grace = milliseconds{r.chance(200) ? 0 : r.long_tailed(1, 6000)};
  if (r.chance(80)) o.timeout = milliseconds{r.long_tailed(20, 8000)};
  o.on_parent_end = r.chance(700) ? on_parent_end::cancel : r.chance(600) ? on_parent_end::wait : on_parent_end::detach;
  if (o.by.task && o.on_parent_end == on_parent_end::detach) o.on_parent_end = on_parent_end::wait;
  if (r.chance(40)) o.supersede = "key";
  if (r.chance(50))
    o.as_of_seq =
        r.between(1, std::max<std::int64_t>(1, static_cast<std::int64_t>(world_.truth.highest_seq_reported())));
  o.task.command = {"work"};
  o.task.slots = r.chance(850) ? 1 : static_cast<std::uint32_t>(r.below(4));
  if (r.chance(80)) o.task.worker = world_.name(r.below(plan.workers));
  if (r.chance(30)) o.task.lease = plan.lease + milliseconds{r.between(1000, 15000)};
  if (r.chance(80)) o.task.pty = true;
  if (r.chance(200)) o.task.leader_exit = on_leader_exit::kill;
  o.fingerprint = "print-" + std::to_string(r.next());
  if (o.kind != kind::external) return;
  random_stream own(plan.seed, mix(1700, std::hash<std::string>{}(o.fingerprint)));
  if (own.chance(500)) o.external.lease = milliseconds{own.between(1000, 8000)};
  o.external.start = own.chance(300) ? start_when::later : start_when::now;
  if (own.chance(500)) o.external.session = "runtime";
}

/// A child's scope is its parent's scope or below it.
void clients::choose_parent(create_order& o, random_stream& r) {
  const auto at = scopes_.find(*o.parent);
  if (at == scopes_.end()) return;
  o.scope = at->second;
  std::vector<scope_path> below;
  for (const auto& s : scopes())
    if (s.is_at_or_below(at->second)) below.push_back(s);
  if (!below.empty() && r.chance(400)) o.scope = r.pick(below);
}

void clients::start(const scheduled& s) {
  random_stream r(world_.plan.seed, mix(1100, s.salt));
  request q;
  q.fresh = id_of<operation_id>(world_.controller.now().wall, mix(world_.plan.seed, s.salt));
  fill(q.order, r);
  q.order.scope = scope_at(r);
  if (r.chance(250)) {
    q.order.parent = some_operation(r);
    choose_parent(q.order, r);
  }
  if (!q.order.parent && q.order.on_parent_end == on_parent_end::detach) q.order.on_parent_end = on_parent_end::cancel;
  if (r.chance(600)) named_.insert(*(q.order.id = q.fresh));
  depths_[q.fresh] = q.order.parent ? depth_of(*q.order.parent) + 1 : 0;
  scopes_[q.fresh] = *q.order.scope;
  requested_.push_back(q.fresh);
  send(std::move(q));
}

void clients::start_nested(const operation_id& parent, std::uint64_t salt, std::size_t) {
  if (requested_.size() > 400) return;
  random_stream r(world_.plan.seed, mix(1200, salt));
  request q;
  q.fresh = id_of<operation_id>(world_.controller.now().wall, mix(world_.plan.seed, salt));
  if (scopes_.contains(q.fresh)) return;
  q.order.by.task = parent;
  fill(q.order, r);
  q.order.parent = parent;
  // The operations below an agent's call were not started by these clients.
  if (const auto* above = world_.truth.record_of(parent); above && !scopes_.contains(parent)) {
    scopes_[parent] = above->scope;
    depths_[parent] = 3;
  }
  choose_parent(q.order, r);
  if (r.chance(300)) named_.insert(*(q.order.id = q.fresh));
  depths_[q.fresh] = depth_of(parent) + 1;
  scopes_[q.fresh] = q.order.scope.value_or(scopes_[parent]);
  requested_.push_back(q.fresh);
  send(std::move(q));
}

void clients::start_below_something(const scheduled& s) {
  random_stream r(world_.plan.seed, mix(1250, s.salt));
  start_nested(some_operation(r), s.salt, s.worker);
}

void clients::order(std::function<void(commit_gate&, moment)> what, int tries) {
  ++waiting_;
  const instant delay = random_.between(50, 900) * us;
  world_.events.after(delay, [this, what = std::move(what), tries]() mutable {
    --waiting_;
    if (world_.controller.is_up()) {
      world_.controller.ask(what);
      return;
    }
    if (tries <= 1) return;
    ++waiting_;
    world_.events.after(300 * ms, [this, what = std::move(what), tries]() mutable {
      --waiting_;
      order(std::move(what), tries - 1);
    });
  });
}

void clients::send(request q) {
  order(
      [this, q](commit_gate& c, moment now) {
        // The gateway looks into the store first.
        if (q.order.id && world_.truth.stands(q.fresh)) return;
        if (world_.disk.low()) return;
        c.execute({commands::create_operation{q.order, q.fresh},
                   [this, q](outcome<created> answer) {
                     if (!world_.controller.answers()) return;
                     world_.truth.create_answered(q.order, q.fresh, answer);
                     if (q.order.kind == kind::external && answer)
                       own(answer->id, std::hash<std::string>{}(answer->id.text()));
                   }},
                  now);
        // A client that chose the id repeats a request that got no answer.
        if (!q.order.id || q.tries > 2) return;
        ++waiting_;
        world_.events.after(2 * seconds, [this, q]() mutable {
          --waiting_;
          if (world_.truth.was_answered(q.fresh)) return;
          ++q.tries;
          send(q);
        });
      },
      3);
}

/// The owner of an external operation: reports now and then, in any order, until it has reported the end; some owners
/// fall silent.
void clients::own(const operation_id& id, std::uint64_t salt, int words) {
  random_stream r(world_.plan.seed, mix(1800, mix(salt, static_cast<std::uint64_t>(words))));
  if (words > 12 || r.chance(60)) return;
  ++waiting_;
  world_.events.after(r.long_tailed(1 * ms, 4 * seconds), [this, id, salt, words, r]() mutable {
    --waiting_;
    const auto word = r.below(8);
    // Not `order`: its delays come from the random stream that all clients share.
    if (world_.controller.is_up())
      world_.controller.ask([id, word](commit_gate& c, moment now) { say_of(c, id, word, now); });
    own(id, salt, words + 1);
  });
}

void clients::cancel(const scheduled& s) {
  random_stream r(world_.plan.seed, mix(1300, s.salt));
  cancel_order o;
  o.by_token.role = role::operator_;
  o.by_token.owner.id = o.by_token.owner.name = r.pick(owners);
  o.by_token.token_name = o.by_token.token_id = "token-of-" + o.by_token.owner.id;
  o.reason = "as scheduled";
  if (r.chance(500)) o.grace = milliseconds{r.chance(300) ? 0 : r.long_tailed(1, 6000)};
  switch (s.what) {
  case act::cancel_operation:
    o.target = records::target_operation{some_operation(r)};
    o.if_unknown = r.chance(300) ? unknown_id::is_refused : unknown_id::leaves_tombstone;
    break;
  case act::cancel_scope:
    o.target = records::target_scope{scope_at(r)};
    if (r.chance(150) && world_.truth.highest_seq_reported() > 0)
      o.up_to_seq = r.between(1, static_cast<std::int64_t>(world_.truth.highest_seq_reported()));
    break;
  case act::cancel_owner:
    o.target = records::target_owner{r.pick(owners), r.chance(400) ? std::optional(scope_at(r)) : std::nullopt};
    break;
  case act::cancel_everything:
    o.target = records::target_everything{r.chance(700) ? std::optional(scope_at(r)) : std::nullopt};
    break;
  case act::cancel_unknown: {
    const auto target = id_of<operation_id>(world_.controller.now().wall, r.next());
    o.target = records::target_operation{target};
    if (r.chance(700)) {
      // A start with exactly this id arrives a little after (or before) the cancel.
      request q;
      q.fresh = target;
      random_stream own(world_.plan.seed, mix(1400, s.salt));
      fill(q.order, own);
      q.order.scope = scope_at(own);
      q.order.on_parent_end = on_parent_end::cancel;
      named_.insert(*(q.order.id = target));
      scopes_[target] = *q.order.scope;
      requested_.push_back(target);
      ++waiting_;
      world_.events.after(r.long_tailed(1 * us, 8 * seconds), [this, q] {
        --waiting_;
        send(q);
      });
    }
    break;
  }
  case act::cancel_again:
    if (sent_cancels_.empty()) return;
    o.target = sent_cancels_[sent_cancels_.size() - 1 - r.below(std::min<std::size_t>(sent_cancels_.size(), 3))].target;
    o.grace = milliseconds{r.chance(500) ? 0 : r.between(1, 500)};
    break;
  default:
    return;
  }
  send_cancel(std::move(o), mix(world_.plan.seed, s.salt));
}

void clients::send_cancel(cancel_order o, std::uint64_t salt, int tries) {
  sent_cancels_.push_back(o);
  const auto fresh = id_of<cancel_id>(world_.controller.now().wall, salt);
  o.fingerprint = "cancel-" + std::to_string(salt);
  if ((salt & 1) != 0) o.id = fresh;
  send(std::move(o), fresh, tries);
}

void clients::send(cancel_order o, cancel_id fresh, int tries) {
  order([this, o, fresh](commit_gate& c, moment now) { arrive(o, fresh, c, now); }, tries);
}

void clients::cancel_that_arrives(const cancel_order& o, std::uint64_t salt) {
  const auto fresh = id_of<cancel_id>(world_.controller.now().wall, salt);
  if (world_.controller.is_up())
    (void)world_.controller.ask([&](commit_gate& c, moment now) { arrive(o, fresh, c, now); });
}

void clients::arrive(cancel_order o, cancel_id fresh, commit_gate& c, moment now) {
  o.received = now.boot;
  if (const auto* target = std::get_if<records::target_operation>(&o.target)) {
    if (world_.truth.is_over(target->id)) return; // the gateway answers `already_finished` from the row
    if (world_.truth.stands(target->id)) o.if_unknown = unknown_id::is_refused;
  }
  ++cancels_;
  world_.truth.cancel_requested(o);
  c.execute({commands::order_cancel{o, fresh},
             [this, o](outcome<cancel_view> answer) {
               if (!world_.controller.answers()) return;
               world_.truth.cancel_answered(o, answer);
             }},
            now);
}

void clients::cancel_everything() {
  cancel_order o;
  o.by_token.role = role::admin;
  o.by_token.token_name = o.by_token.token_id = "the end";
  o.target = records::target_everything{};
  o.grace = milliseconds{500};
  send_cancel(std::move(o), mix(world_.plan.seed, 1500 + cancels_), 300);
}

void clients::drain(const scheduled& s) {
  random_stream r(s.salt);
  const auto tasks = r.chance(500) ? worker_tasks::are_cancelled : worker_tasks::go_on;
  std::optional<milliseconds> deadline;
  if (r.chance(300)) deadline = milliseconds{r.between(10, 4000)};
  order([this, s, tasks, deadline](commit_gate& c, moment now) {
    world_.truth.worker_stopped_by_order(s.worker);
    c.execute({commands::drain_worker{world_.name(s.worker), "as scheduled", deadline, tasks, {}}, {}}, now);
  });
}

void clients::resume(std::size_t worker) {
  order(
      [this, worker](commit_gate& c, moment now) {
        c.execute({commands::resume_worker{world_.name(worker)}, {}}, now);
      },
      20);
}

void clients::remove(const scheduled& s) {
  const auto tasks = (s.salt & 1) != 0 ? worker_tasks::are_cancelled : worker_tasks::go_on;
  order([this, s, tasks](commit_gate& c, moment now) {
    world_.truth.worker_stopped_by_order(s.worker);
    c.execute({commands::remove_worker{world_.name(s.worker), tasks, {}}, {}}, now);
  });
}

void clients::enrol(std::size_t worker) {
  order(
      [this, worker](commit_gate& c, moment now) {
        if (c.workers().knows(world_.name(worker))) return;
        c.execute({commands::enrol_worker{world_.name(worker), world_.workers[worker]->key(), {}}, {}}, now);
      },
      20);
}

/// A reload; quelld reads the file also when it starts.
void clients::limit_slots(const scheduled& s) {
  const auto limits = draw_limits(s.salt);
  const auto number = world_.truth.limits_changed(limits);
  world_.controller.ask([this, limits, number](commit_gate& c, moment now) {
    c.execute({commands::limit_slots{limits},
               [this, number](const commands::nothing&) {
                 if (world_.controller.answers()) world_.truth.limits_hold(number);
               }},
              now);
  });
}

void clients::declare(const scheduled& s) {
  random_stream r(world_.plan.seed, mix(1600, s.salt));
  if (s.what == act::declare_operation) {
    const auto id = some_operation(r);
    order([this, id](commit_gate& c, moment now) {
      caller admin;
      admin.role = role::admin;
      const auto declared = [this, id](const outcome<operation_id>& done) {
        if (done) world_.truth.declared(id);
      };
      c.execute({commands::declare_dead{id, "as scheduled", std::move(admin)}, {}, declared}, now);
    });
    return;
  }
  order([this, s](commit_gate& c, moment now) {
    const auto view = c.workers().worker(world_.name(s.worker), now);
    if (!view || view->status == worker_status::ready || view->status == worker_status::draining) return;
    world_.truth.worker_declared(s.worker);
    caller admin;
    admin.role = role::admin;
    c.execute({commands::declare_worker_dead{world_.name(s.worker), "as scheduled", std::move(admin)}, {}}, now);
  });
}

} // namespace quell::simulation
