// Parts around the voice gateway that a test turns by hand: its loop, and a turn scheduler.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/turn_scheduler.hpp"
#include "integrations/voice/loop.hpp"

namespace quell::controller::voice::testing {

/// Runs what was posted only when it is told to.
class manual_loop final : public integrations::voice::voice_loop {
 public:
  result<std::uint16_t> listen(const integrations::voice::listening_place&,
                               std::function<void(std::shared_ptr<integrations::voice::frame_link>)>) override {
    return failure("bad_address", "nothing listens in this test");
  }
  void post(std::function<void()> what) override { posted_.push_back(std::move(what)); }
  void after(std::chrono::milliseconds, std::function<void()> what) override { timers_.push_back(std::move(what)); }
  void stop(std::function<void()> farewell) override {
    if (farewell) farewell();
    posted_.clear();
    timers_.clear();
  }
  void run() {
    while (!posted_.empty()) {
      const auto what = std::move(posted_.front());
      posted_.pop_front();
      what();
    }
  }
  std::size_t timers() const { return timers_.size(); }
  /// The time of every timer has come.
  void run_timers() {
    for (auto& what : std::exchange(timers_, {})) posted_.push_back(std::move(what));
    run();
  }

 private:
  std::deque<std::function<void()>> posted_;
  std::vector<std::function<void()>> timers_;
};

/// Takes messages; each becomes a turn at once.
class played_scheduler final : public turns::turn_scheduler {
 public:
  struct taken {
    turns::message_order order;
    operation_id turn;
  };
  std::vector<taken> messages;
  std::shared_ptr<turns::agent_runtime> shared; ///< what `runtime` gives

  void take(turns::message_order order, reply<outcome<turns::message_answer>> done) override {
    messages.push_back({std::move(order), operation_id::fresh()});
    turns::message_answer answer;
    answer.decision = turns::message_answer::decided::turn;
    answer.turn = messages.back().turn;
    done(answer);
  }
  void rewrite(turns::history_order, reply<outcome<turns::history_answer>>) override {}
  void decide(operation_id, decision, reply<outcome<operation_id>>) override {}
  void answer(operation_id, human_answer, reply<outcome<operation_id>>) override {}
  void decide_in_chat(operation_id, decision, turns::chat_approver, reply<outcome<operation_id>>) override {}
  bool may_decide(const std::string&) const override { return false; }
  void with_rules(std::function<void(turns::standing_rules*)> what) override { what(nullptr); }
  void find_cancel(cancel_id, reply<result<bool>>) override {}
  void find_message(std::vector<scope_path>, std::string,
                    reply<result<std::optional<records::message_record>>>) override {}
  void disconnected(operation_id) override {}
  turns::lost_clients* clients() override { return nullptr; }
  std::optional<turns::turn_now> look(const operation_id&) const override { return std::nullopt; }
  turns::mcp_accounts* accounts() override { return nullptr; }
  std::shared_ptr<turns::agent_runtime> runtime() override { return shared; }
  void signal(const actor_signal&) override {}
  void ended(const ended_operation&) override {}
  void on_event(const records::event_record&) override {}
  void reload(turns::turn_settings) override {}
  void stop() override {}
};

} // namespace quell::controller::voice::testing
