// Mirrors actors/agent_actor.cpp and actors/tool_actor.cpp: a mailbox, and one line of code per message. With the
// trouble `actor_death` some of them throw at one of their first messages: what they hold is let go of, what is below
// them dies with them, and what is above them is told.
#include "tests/simulation/virtual_agents.hpp"

#include <deque>
#include <map>

#include "actors/agent/agent.hpp"
#include "actors/agent/tool_run.hpp"
#include "actors/turns/turn_port.hpp"

namespace quell::simulation {

using namespace quell::actors;

namespace {

enum class urgency_of_mail { normal, urgent };

/// Takes one message after the other; each takes a moment. After close it drops all messages.
class virtual_mailbox : public std::enable_shared_from_this<virtual_mailbox> {
 public:
  explicit virtual_mailbox(std::shared_ptr<scheduler_life> life) : life_(std::move(life)) {}
  void put(std::function<void()> what, urgency_of_mail how = urgency_of_mail::normal) {
    if (is_closed_) return;
    (how == urgency_of_mail::urgent ? urgent_ : normal_).push_back(std::move(what));
    later(life_, life_->random.between(2, 80) * us, [self = shared_from_this()] { self->step(); });
  }
  void close() {
    is_closed_ = true;
    urgent_.clear();
    normal_.clear();
  }

 private:
  void step() {
    auto& from = urgent_.empty() ? normal_ : urgent_;
    if (is_closed_ || from.empty()) return;
    const auto what = std::move(from.front());
    from.pop_front();
    what();
  }
  std::shared_ptr<scheduler_life> life_;
  std::deque<std::function<void()>> urgent_, normal_;
  bool is_closed_ = false;
};

/// The message at which an actor throws, if it does. That message is lost.
class throw_point {
 public:
  throw_point(scheduler_life& life, unsigned per_mille, std::int64_t most_messages) {
    if (life.at.plan.has(trouble::actor_death) && life.deaths.chance(per_mille))
      messages_left_ = life.deaths.between(0, most_messages);
  }
  /// To be asked once before each message.
  bool is_reached(const world& at) {
    return at.events.now() < at.plan.active && messages_left_ && (*messages_left_)-- == 0;
  }

 private:
  std::optional<std::int64_t> messages_left_;
};

struct virtual_tool {
  explicit virtual_tool(const std::shared_ptr<scheduler_life>& life)
      : mail(std::make_shared<virtual_mailbox>(life)), throws(*life, 60, 4) {}
  std::shared_ptr<virtual_mailbox> mail;
  throw_point throws;
  std::unique_ptr<tool_run> run;
};

class virtual_agent final : public agent_loop, public std::enable_shared_from_this<virtual_agent> {
 public:
  virtual_agent(std::shared_ptr<scheduler_life> life, agent_start start)
      : life_(std::move(life)), mail_(std::make_shared<virtual_mailbox>(life_)), throws_(*life_, 120, 25),
        start_(std::move(start)) {}

  void begin() {
    it_ = std::make_unique<agent>(start_.limits, *start_.texts, *start_.port, *this);
    life_->closers.push_back([weak = weak_from_this()] { // it and its port hold each other
      if (const auto self = weak.lock()) self->it_.reset(), self->start_ = {};
    });
    // Overtakes everything, also urgent messages.
    mail_->put(
        [self = shared_from_this()] {
          if (self->has_thrown()) return;
          if (self->start_.resumes)
            self->it_->resume(std::move(self->start_.so_far), self->start_.known, std::move(self->start_.calls),
                              std::move(self->start_.past));
          else
            self->it_->begin(std::move(self->start_.so_far));
          self->arm();
        },
        urgency_of_mail::urgent);
  }
  void take(std::function<void(agent&)> what, urgency_of_mail how = urgency_of_mail::normal) {
    mail_->put(
        [self = shared_from_this(), what = std::move(what)] {
          if (self->is_over_ || self->has_thrown()) return;
          what(*self->it_);
          self->arm();
        },
        how);
  }
  void die() {
    mail_->close();
    for (const auto& [number, tool] : tools_) tool->mail->close();
  }

  step_poster poster() override {
    return [weak = weak_from_this()](std::function<void()> what) {
      if (const auto self = weak.lock()) self->take([what = std::move(what)](agent&) { what(); });
    };
  }
  boot_time now() override { return start_.clock(); }
  void start_tool(call_number number, const operation_id& call, std::unique_ptr<tool_work> work) override {
    auto tool = std::make_shared<virtual_tool>(life_);
    tool_run::parts parts{call, it_->call(number), start_.port, std::move(work), {}, {}};
    parts.post = [weak = weak_from_this(), tool, number](std::function<void()> what) {
      if (const auto self = weak.lock()) self->put(tool, number, std::move(what));
    };
    parts.over = [weak = weak_from_this(), tool = std::weak_ptr(tool), life = life_,
                  number](const tool_result& stands) {
      if (const auto held = tool.lock()) {
        held->mail->close();
        later(life, 0, [held] { held->run.reset(); });
      }
      if (const auto self = weak.lock())
        self->take([self = self.get(), number, stands](agent& it) {
          self->tools_.erase(number);
          it.tool_over(number, stands);
        });
    };
    tool->run = std::make_unique<tool_run>(std::move(parts));
    tools_[number] = tool;
    life_->closers.push_back([weak = std::weak_ptr(tool)] { // it holds itself until it is over
      if (const auto held = weak.lock()) held->mail->close(), held->run.reset();
    });
    put(
        tool, number, [tool = tool.get()] { tool->run->begin(); }, urgency_of_mail::urgent);
  }
  void stop_tool(call_number number, const std::string& reason) override {
    if (const auto at = tools_.find(number); at != tools_.end())
      put(
          at->second, number, [tool = at->second.get(), reason] { tool->run->stop(reason); }, urgency_of_mail::urgent);
  }
  void over() override {
    is_over_ = true;
    start_.over(actors::agent_exit::finished);
    mail_->close();
  }

 private:
  /// A message to a tool. If the tool throws, the agent is told by its exit, which overtakes what waits.
  void put(const std::shared_ptr<virtual_tool>& tool, call_number number, std::function<void()> what,
           urgency_of_mail how = urgency_of_mail::normal) {
    tool->mail->put(
        [weak = weak_from_this(), life = life_, tool, number, what = std::move(what)] {
          if (!tool->throws.is_reached(life->at)) return what();
          tool->mail->close();
          later(life, 0, [tool] { tool->run.reset(); });
          const auto self = weak.lock();
          if (!self || self->is_over_) return;
          life->at.note("quelld", [&] { return "a tool of " + life->at.label(self->operation()) + " throws"; });
          self->take(
              [self = self.get(), number](agent& it) {
                if (self->tools_.erase(number) > 0) it.tool_broke(number);
              },
              urgency_of_mail::urgent);
        },
        how);
  }
  /// If its time has come: it lets go of everything, and its tools and its parent are told by its exit.
  bool has_thrown() {
    if (!throws_.is_reached(life_->at)) return false;
    is_over_ = true;
    mail_->close();
    life_->at.note("quelld", [&] { return "the agent of " + life_->at.label(operation()) + " throws"; });
    life_->at.turns.agent_died(operation(), it_->it().phase());
    for (const auto& [number, tool] : tools_)
      later(life_, life_->deaths.between(1, 60) * us, [tool = tool] {
        tool->mail->close();
        tool->run.reset();
      });
    tools_.clear();
    later(life_, 0, [self = shared_from_this(), over = std::move(start_.over)]() mutable {
      self->it_.reset();
      self->start_ = {};
      later(self->life_, self->life_->deaths.between(2, 80) * us,
            [over = std::move(over)] { over(actors::agent_exit::died); });
    });
    return true;
  }
  const operation_id& operation() const {
    return static_cast<const controller::turns::turn_port&>(*start_.port).who().operation;
  }
  void arm() {
    if (is_over_) return;
    const auto next = it_->next_tick();
    if (!next || (timer_at_ && *timer_at_ <= *next)) return;
    timer_at_ = next;
    const auto wait = std::max<std::int64_t>((*next - start_.clock()).count(), 0);
    later(life_, wait, [weak = weak_from_this(), generation = ++timer_] {
      const auto self = weak.lock();
      if (!self || generation != self->timer_) return;
      self->timer_at_.reset();
      self->take([](agent& it) { it.tick(); });
    });
  }

  std::shared_ptr<scheduler_life> life_;
  std::shared_ptr<virtual_mailbox> mail_;
  throw_point throws_;
  agent_start start_;
  std::unique_ptr<agent> it_;
  std::map<call_number, std::shared_ptr<virtual_tool>> tools_;
  std::uint64_t timer_ = 0;
  std::optional<boot_time> timer_at_;
  bool is_over_ = false;
};

class virtual_handle final : public agent_handle {
 public:
  explicit virtual_handle(std::shared_ptr<virtual_agent> to) : to_(std::move(to)) {}
  void stop(abort_reason why, const std::string& reason) override {
    to_->take([why, reason](agent& it) { it.stop(why, reason); }, urgency_of_mail::urgent);
  }
  void stop_call(const operation_id& call, const std::string& reason) override {
    to_->take([call, reason](agent& it) { it.call_stopped(call, reason); }, urgency_of_mail::urgent);
  }
  void decide(const operation_id& call, approval_outcome how, const std::string& reason,
              const std::optional<std::string>& input) override {
    to_->take([=](agent& it) { it.human_decided(call, how, reason, input); });
  }
  void waits(const operation_id& call, human_wait what) override {
    to_->take([call, what](agent& it) { it.call_waits(call, what); });
  }
  void die() override { to_->die(); }

 private:
  std::shared_ptr<virtual_agent> to_;
};

} // namespace

std::shared_ptr<agent_handle> spawn_virtual_agent(const std::shared_ptr<scheduler_life>& life, agent_start start) {
  auto made = std::make_shared<virtual_agent>(life, std::move(start));
  made->begin();
  return std::make_shared<virtual_handle>(std::move(made));
}

} // namespace quell::simulation
