// The MCP-host actor: one handler per message, around the servers.
#include "actors/mcp_host_actor.hpp"

#include <atomic>
#include <caf/all.hpp>
#include <tuple>
#include <utility>

#include "actors/due_table.hpp"
#include "actors/held_actor.hpp"
#include "actors/own_exit.hpp"
#include "actors/turns/guarded_step.hpp"

namespace quell::actors {

namespace {

using controller::turns::connect_mcp_server;
using controller::turns::mcp_host;
using controller::turns::mcp_loop;
using controller::turns::mcp_parts;
using controller::turns::mcp_servers;
using controller::turns::mcp_troubles;
using controller::turns::mcp_user;
using controller::turns::offered_tools;
using controller::turns::reach_to;
using controller::turns::run_guarded;

/// Where the actor leaves its servers at its end. The thread that ends the host destroys them, because the end of a
/// server over HTTP waits for the server's thread, for which no thread of the scheduler must wait.
using servers_left = std::unique_ptr<mcp_servers>;

struct mcp_host_state {
  mcp_host_state() = default;
  ~mcp_host_state() {
    if (left) *left = std::move(it);
  }
  mcp_host_state(const mcp_host_state&) = delete;
  mcp_host_state& operator=(const mcp_host_state&) = delete;

  due_table<std::function<void()>> later;
  std::unique_ptr<mcp_loop> loop;
  std::unique_ptr<mcp_servers> it;
  std::shared_ptr<servers_left> left;
};

using mcp_host_pointer = mcp_host_actor::stateful_pointer<mcp_host_state>;

class actor_mcp_loop final : public mcp_loop {
 public:
  explicit actor_mcp_loop(mcp_host_pointer self) : self_(self) {}
  std::function<void(std::function<void()>)> poster() override {
    // Weak: a server holds its listeners, and the actor holds the server.
    return [to = self_->address()](std::function<void()> step) {
      if (const auto alive = caf::actor_cast<mcp_host_actor>(to))
        caf::anon_send(alive, mcp_news{annotate_handoff_for_tsan(std::move(step))});
    };
  }
  void after(milliseconds wait, std::function<void()> step) override {
    self_->state.later.add(self_->clock().now() + wait, std::move(step));
    self_->state.later.arm(self_);
  }

 private:
  mcp_host_pointer self_;
};

template <class Step>
void take(const Step& step) {
  run_guarded("a step of the MCP host", step);
}

mcp_host_actor::behavior_type mcp_host_behavior(mcp_host_pointer self, const std::shared_ptr<mcp_parts>& parts,
                                                const connect_mcp_server& connect,
                                                const std::shared_ptr<mcp_troubles>& troubles,
                                                const std::shared_ptr<servers_left>& left) {
  end_by_own_exit(self);
  self->state.left = left;
  self->state.loop = std::make_unique<actor_mcp_loop>(self);
  self->state.it = std::make_unique<mcp_servers>(std::move(*parts), connect, troubles, *self->state.loop);
  return {
      [self](const gather_tools& m) { take([&] { self->state.it->tools(m.servers, m.user, m.done); }); },
      [self](const reach_server& m) { take([&] { self->state.it->when_ready(m.name, m.agent, m.done); }); },
      [self](const mcp_user_over& m) { take([&] { self->state.it->user_over(m.agent); }); },
      [self](const read_cards&) { take([&] { self->state.it->read_cards(); }); },
      [self](const login_changed& m) { take([&] { self->state.it->login_changed(m.server); }); },
      [](const mcp_news& m) { take(m.handle); },
      [self](const clock_ticked& m) {
        if (!self->state.later.ticked(m)) return;
        if (const auto step = self->state.later.take(self->clock().now())) take(*step);
        self->state.later.arm(self);
      },
  };
}

/// A reply that is dropped before its answer, because a step has failed, gives this answer instead.
template <class... Args>
class answered_for_sure {
 public:
  answered_for_sure(std::function<void(Args...)> done, std::shared_ptr<const std::atomic<bool>> is_over,
                    std::decay_t<Args>... otherwise)
      : done_(std::move(done)), is_over_(std::move(is_over)), otherwise_(std::move(otherwise)...) {}
  ~answered_for_sure() {
    if (!done_ || *is_over_) return;
    run_guarded("an answer of the MCP host", [this] { std::apply(done_, otherwise_); });
  }
  answered_for_sure(const answered_for_sure&) = delete;
  answered_for_sure& operator=(const answered_for_sure&) = delete;

  void answer(Args... args) {
    if (const auto done = std::exchange(done_, nullptr)) done(std::forward<Args>(args)...);
  }

 private:
  std::function<void(Args...)> done_;
  const std::shared_ptr<const std::atomic<bool>> is_over_; ///< the process ends: nobody is called back
  std::tuple<std::decay_t<Args>...> otherwise_;
};

class actor_mcp_host final : public mcp_host {
 public:
  actor_mcp_host(caf::actor_system& system, mcp_parts parts, const connect_mcp_server& connect)
      : mcp_host(parts.accounts, parts.ids),
        to_(system, system.spawn(mcp_host_behavior, std::make_shared<mcp_parts>(parts), connect, troubles_, left_)) {
    accounts().ask_for_trouble([troubles = troubles_](const std::string& name) {
      const auto all = troubles->get();
      const auto found = all->find(name);
      return found == all->end() ? std::string() : found->second;
    });
    accounts().on_change([to = to_.address()](const std::string& name) {
      if (const auto alive = caf::actor_cast<mcp_host_actor>(to)) caf::anon_send(alive, login_changed{name});
    });
  }

  void tools(std::vector<std::string> servers, mcp_user user, std::function<void(offered_tools)> done) override {
    if (servers.empty()) return done({});
    has_users_ = true;
    offered_tools none;
    none.note = "the tools of MCP servers are not known now, because asking for them failed";
    send(gather_tools{std::move(servers), std::move(user), sure<offered_tools>(std::move(done), std::move(none))});
  }
  void when_ready(std::string name, operation_id agent, reach_to why, when_known done) override {
    has_users_ = true;
    reach_server what{std::move(name), agent,
                      sure<std::shared_ptr<integrations::mcp_server>, const std::string&>(
                          std::move(done), nullptr, "the start of this server failed")};
    if (why == reach_to::stop)
      send<caf::message_priority::high>(std::move(what));
    else
      send(std::move(what));
  }
  void user_over(operation_id agent) override {
    if (has_users_) send(mcp_user_over{agent});
  }
  void read_cards() override { send(actors::read_cards{}); }
  void end() override {
    is_over_->store(true);
    if (!to_.end()) return;
    left_->reset();
    accounts().stop();
  }

 private:
  template <caf::message_priority Priority = caf::message_priority::normal, class Message>
  void send(Message what) {
    to_.template send<Priority>([&] { return std::move(what); });
  }
  template <class... Args>
  std::function<void(Args...)> sure(std::function<void(Args...)> done, std::decay_t<Args>... otherwise) const {
    const auto held = std::make_shared<answered_for_sure<Args...>>(std::move(done), is_over_, std::move(otherwise)...);
    return annotate_handoff_for_tsan(
        std::function<void(Args...)>([held](Args... args) { held->answer(std::forward<Args>(args)...); }));
  }

  std::atomic<bool> has_users_{false}; ///< some agent has asked for a server, so the end of one can matter
  const std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<servers_left> left_ = std::make_shared<servers_left>();
  const std::shared_ptr<mcp_troubles> troubles_ = std::make_shared<mcp_troubles>();
  held_actor<mcp_host_actor> to_;
};

} // namespace

std::shared_ptr<mcp_host> spawn_mcp_host(caf::actor_system& system, mcp_parts parts, connect_mcp_server connect) {
  return std::make_shared<actor_mcp_host>(system, std::move(parts), connect);
}

} // namespace quell::actors
