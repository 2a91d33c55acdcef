// Travel, delay, loss and late arrival of frames.
#include "tests/simulation/network.hpp"

#include <algorithm>
#include <utility>

#include "tests/simulation/world.hpp"

namespace quell::simulation {

namespace {
constexpr int up = static_cast<int>(heading::up);
} // namespace

network::network(world& w)
    : world_(w), random_(w.plan.seed, 300), links_(w.plan.workers), hostile_(w.plan.has(trouble::hostile_links)),
      jitter_(w.plan.has(trouble::jitter)) {
  for (auto& l : links_) l.base_delay = w.plan.far + random_.between(20, 400) * us;
}

void network::reset(std::size_t worker) {
  close(worker);
  auto c = std::make_shared<connection>();
  c->route = "route-" + std::to_string(++routes_);
  c->worker = worker;
  links_[worker].current = c;
  connect(c, random_.between(100, 1500) * us);
}

void network::close(std::size_t worker) {
  auto& c = links_[worker].current;
  if (!c) return;
  c->thrown_away = true;
  c->late_arrives = random_.chance(400);
  c->last[up] = std::max(c->last[up], world_.events.now() + random_.long_tailed(1 * ms, 1 * seconds));
  c->stands = false;
  by_route_.erase(c->route);
  c.reset();
}

bool network::connected(std::size_t worker) const {
  const auto& c = links_[worker].current;
  return c && c->stands;
}

std::uint64_t network::connections(std::size_t worker) const {
  const auto& c = links_[worker].current;
  return c ? c->handshakes : 0;
}

void network::connect(const std::shared_ptr<connection>& c, instant wait) {
  world_.events.after(wait, [this, c, wait] {
    if (c->thrown_away || c->stands) return;
    const auto& l = links_[c->worker];
    const bool reaches = listening_ && !l.blocked[0] && !l.blocked[1] && world_.controller.lets_in(c->worker);
    if (!reaches) return connect(c, std::clamp<instant>(2 * wait, 100 * ms, 2 * seconds));
    c->stands = true;
    ++c->handshakes;
    by_route_[c->route] = c;
    world_.note("network", [&] { return c->route + " of " + world_.name(c->worker) + " stands"; });
    world_.workers[c->worker]->wake();
  });
}

bool network::send_up(std::size_t worker, std::string bytes) {
  const auto c = links_[worker].current;
  if (!c || !c->stands) return false;
  post(c, heading::up, std::move(bytes));
  return true;
}

void network::listen() { listening_ = true; }

void network::controller_died(bool orderly) {
  listening_ = false;
  for (auto& l : links_) {
    if (!l.current || !l.current->stands) continue;
    auto c = l.current;
    const auto breaks = c->breaks[1];
    break_connection(*c);
    // Frames that left before the end can still be in the worker's kernel.
    if (orderly || random_.chance(500)) c->breaks[1] = breaks;
  }
  by_route_.clear();
}

void network::send_down(const std::string& route, std::string bytes) {
  const auto c = by_route_.find(route);
  if (c != by_route_.end()) post(c->second, heading::down, std::move(bytes));
}

void network::break_link(std::size_t worker) {
  if (const auto c = links_[worker].current; c && c->stands) {
    break_connection(*c);
    connect(c, random_.between(100, 900) * ms);
  }
}

void network::break_connection(connection& c) {
  world_.note("network", [&] { return c.route + " breaks"; });
  c.stands = false;
  ++c.breaks[0];
  ++c.breaks[1];
  by_route_.erase(c.route);
  if (!listening_)
    if (auto& l = links_[c.worker]; l.current.get() == &c) connect(l.current, 100 * ms);
}

void network::block(std::size_t worker, heading which, bool is) {
  auto& l = links_[worker];
  const int d = static_cast<int>(which);
  if (l.blocked[d] == is) return;
  l.blocked[d] = is;
  if (is) {
    // ZeroMQ's own heartbeats drop a silent peer.
    world_.events.after(random_.between(6000, 8000) * ms, [this, worker, d, blocks = ++l.blocks] {
      auto& held = links_[worker];
      if (held.blocked[d] && held.blocks == blocks) break_link(worker);
    });
    return;
  }
  auto waiting = std::move(l.held[d]);
  l.held[d].clear();
  for (auto& p : waiting) travel(std::move(p), which, true);
}

void network::heal() {
  hostile_ = jitter_ = false;
  for (std::size_t w = 0; w < links_.size(); ++w) {
    block(w, heading::up, false);
    block(w, heading::down, false);
  }
}

void network::post(const std::shared_ptr<connection>& c, heading which, std::string bytes) {
  packet p{c, c->breaks[static_cast<int>(which)], std::move(bytes), false};
  if (!hostile_) return travel(std::move(p), which, true);
  if (random_.chance(15)) return;
  if (random_.chance(25)) travel(p, which, false);
  travel(std::move(p), which, !random_.chance(40));
}

void network::travel(packet p, heading which, bool in_order) {
  auto& l = links_[p.on->worker];
  instant delay = l.base_delay + random_.between(0, 60) * us;
  if (jitter_) delay += random_.long_tailed(0, 60 * ms);
  if (!in_order) delay += random_.long_tailed(1 * ms, 3 * seconds);
  instant at = world_.events.now() + delay;
  if (in_order) {
    auto& last = p.on->last[static_cast<int>(which)];
    last = at = std::max(at, last);
  }
  world_.events.at(at, [this, p = std::move(p), which]() mutable { arrive(std::move(p), which); });
}

void network::arrive(packet p, heading which) {
  const int d = static_cast<int>(which);
  connection& c = *p.on;
  if (c.breaks[d] != p.breaks) return;
  if (c.thrown_away) {
    if (d != up || !c.late_arrives) return;
    if (!std::exchange(p.is_late, true)) { // it is delayed on its way while its successor is fast
      if (random_.chance(300))
        c.last[d] = std::max(c.last[d], world_.events.now()) + random_.long_tailed(1 * ms, 4 * seconds);
      return travel(std::move(p), which, true);
    }
  }
  auto& l = links_[c.worker];
  if (l.blocked[d]) return l.held[d].push_back(std::move(p));
  if (which == heading::up) {
    if (listening_ && world_.controller.lets_in(c.worker)) world_.controller.receive(c.worker, c.route, p.bytes);
  } else {
    world_.workers[c.worker]->receive(std::move(p.bytes));
  }
}

} // namespace quell::simulation
