// The handle by which other threads hold a call of a talk that has its own thread (integrations/net/talk_thread.hpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "integrations/mcp/call_channel.hpp"
#include "integrations/net/talk_thread.hpp"

namespace quell::integrations {

/// `Talk` numbers its calls, and has cancel(number, reason, now) and stop_waiting(number); one whose server can ask
/// questions has answer(number, question, answer, now), too.
///
/// A cancel first cuts the channel, on the caller's thread: what the network delivers between that and the close is
/// dropped.
template <class Talk>
class held_call final : public mcp_call {
 public:
  using time_point = typename talk_jobs<Talk>::time_point;

  held_call(std::shared_ptr<talk_jobs<Talk>> jobs, std::shared_ptr<mcp_call_channel> channel, std::uint64_t number)
      : jobs_(std::move(jobs)), channel_(std::move(channel)), number_(number) {}
  ~held_call() override {
    if (!channel_->is_over()) cancel({}, nullptr);
  }
  void cancel(std::string reason, late_result_listener late) override {
    channel_->cut();
    channel_->hear(std::move(late));
    if (is_cancelled_.exchange(true)) return;
    const auto stop = [number = number_, reason = std::move(reason)](Talk& talk, time_point now) {
      talk.cancel(number, reason, now);
    };
    if (!jobs_->put(stop)) channel_->became("ignored");
  }
  void stop_waiting() override {
    if (!is_cancelled_) return;
    jobs_->put([number = number_](Talk& talk, time_point) { talk.stop_waiting(number); });
  }
  void answer(std::uint64_t question, mcp_answer what) override {
    if constexpr (requires(Talk & talk) { talk.answer(number_, question, what, time_point()); }) {
      if (channel_->is_over()) return;
      jobs_->put([number = number_, question, what = std::move(what)](Talk& talk, time_point now) {
        talk.answer(number, question, what, now);
      });
    }
  }

 private:
  const std::shared_ptr<talk_jobs<Talk>> jobs_;
  const std::shared_ptr<mcp_call_channel> channel_;
  const std::uint64_t number_;
  std::atomic<bool> is_cancelled_ = false;
};

} // namespace quell::integrations
