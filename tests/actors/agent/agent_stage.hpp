// An agent whose port and loop a test plays by hand: each answer comes when the test says so.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "actors/agent/agent.hpp"
#include "tests/actors/turn/turn_world.hpp"

namespace quell::testing {

using namespace actors;

/// Plays ledger, models, tools and the mailbox. One step is one event.
class stage final : public agent_port, public agent_loop {
 public:
  /// Tools of the first answer; the second answer is text alone.
  explicit stage(std::vector<std::string> tools) : tools_(std::move(tools)) {
    it_ = std::make_unique<agent>(turn_limits{}, texts_, *this, *this);
    it_->begin({user_message{"do it"}});
  }

  bool step() {
    auto& next = mailbox_.empty() ? outside_ : mailbox_;
    if (next.empty()) return false;
    const auto what = std::move(next.front());
    next.pop_front();
    what();
    return true;
  }
  void play() {
    for (int i = 0; i < 1000; ++i)
      if (!step()) return;
    FAIL("it never ends");
  }
  void stop() {
    stopped_ = true;
    it_->stop(abort_reason::user, "enough"); // urgent: it overtakes everything that waits
  }
  /// The ledger stops this call alone and gives it its result.
  bool stop_call(std::size_t n) {
    if (n >= stored_.size()) return false;
    const auto id = stored_[n];
    if (results_.count(id) == 1) return false;
    results_[id] = {calls_.at(id).call, calls_.at(id).name, false, true, "\"cancelled\""};
    it_->call_stopped(id, "not this one");
    return true;
  }
  /// Checks everything that must hold at the end.
  void is_whole() {
    CHECK(ends_.size() == 1);
    CHECK(overs_ == 1);
    CHECK(open_model_calls_.empty());
    CHECK(open_streams_ == 0);
    for (const auto& id : stored_) CHECK(results_.count(id) == 1);
    for (const auto& [number, t] : running_) CHECK(t.stopped);
  }

  // ---- port ----
  tool_traits traits(const tool_call& call) override { return traits_of(call); }
  void input_changed(const tool_call&) override {}
  void expect_request(const conversation&) override {}
  std::vector<user_message> take_steering() override { return {}; }
  void close_last_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) override {
    close_model_call(id, std::move(failed), usage);
  }
  void say_thinking(std::uint64_t, const std::string&, std::function<void()> done) override { done(); }
  void say_model_note(const model_note&) override {}
  void open_model_call(std::uint32_t, answer<result<operation_id>> done) override {
    if (stopped_) return later([done] { done(tl::unexpected(fault{"stale_start", "stopped", {}})); });
    const auto id = operation_id::fresh();
    open_model_calls_.insert(id);
    later([done, id] { done(id); });
  }
  std::unique_ptr<model_stream> ask_model(conversation messages, step_poster,
                                          std::function<void(model_event)> listener) override {
    CHECK_FALSE(stopped_);
    std::size_t open = 0;
    for (const auto& m : messages) {
      if (const auto* a = std::get_if<assistant_message>(&m)) open = a->calls.size();
      if (const auto* r = std::get_if<tool_results>(&m)) open -= r->results.size();
    }
    CHECK(open == 0);
    ++open_streams_;
    auto alive = std::make_shared<bool>(true);
    const auto tell = [&](model_event e) {
      later([this, alive, listener, e] {
        if (!*alive) return;
        if (std::holds_alternative<model_events::finished>(e)) *alive = false, --open_streams_;
        listener(e);
      });
    };
    tell(model_events::text{"Well, "});
    tell(model_events::text{"now."});
    if (++model_calls_ == 1)
      for (std::size_t i = 0; i < tools_.size(); ++i)
        tell(model_events::call{{"c" + std::to_string(i), tools_[i], "{}"}});
    tell(model_events::finished{});
    return std::make_unique<stream>(*this, alive);
  }
  void close_model_call(const operation_id& id, std::optional<fault>, const model_usage&) override {
    CHECK(open_model_calls_.erase(id) == 1);
  }
  void store_answer(const assistant_message& what, const std::vector<tool_traits>&, const model_usage&,
                    answer<result<std::vector<operation_id>>> done) override {
    if (++stores_ == refused_store)
      return later([done] { done(tl::unexpected(fault{"storage_unavailable", "full", {}})); });
    CHECK((what.interrupted || !stopped_ || !what.calls.empty() || !what.text.empty()));
    std::vector<operation_id> ids;
    for (const auto& c : what.calls) {
      ids.push_back(operation_id::fresh());
      calls_.emplace(ids.back(), c);
      stored_.push_back(ids.back());
    }
    text_ += what.text;
    later([done, ids] { done(ids); });
  }
  void begin_call(const operation_id& call, answer<bool> done) override {
    later([this, done, call] { done(!stopped_ && results_.count(call) == 0); });
  }
  void close_call(const operation_id& call, const tool_result& what, answer<tool_result> done) override {
    const auto& stands = results_.emplace(call, what).first->second; // the first result stands
    later([done, stands] { done(stands); });
  }
  void time_out_call(const operation_id& call, const tool_result& what, answer<tool_result> done) override {
    close_call(call, what, std::move(done));
  }
  void ask_human(const operation_id& call, const tool_call&, const std::string&) override {
    later([this, call] {
      if (stopped_ || results_.count(call) == 1) return;
      if (!approves) results_[call] = {calls_.at(call).call, calls_.at(call).name, false, false, "\"denied no\""};
      post([this, call] { it_->human_decided(call, approved_or_denied(approves), "no"); });
    });
  }
  std::unique_ptr<tool_work> work_for(const operation_id&, const tool_call&, const turn&) override {
    CHECK_FALSE(stopped_);
    return nullptr;
  }
  void say(const operation_id&, const tool_call&, const agent_news& news) override {
    CHECK(ends_.empty());
    if (const auto* r = std::get_if<turn_effects::say_result>(&news)) CHECK(reported_.insert(r->number).second);
  }
  void say_text(std::uint64_t offset, const std::string& text, std::function<void()> done) override {
    CHECK(ends_.empty());
    CHECK(offset == spoken_.size());
    spoken_ += text;
    later(std::move(done));
  }
  void end(const turn_effects::end& how, const std::optional<last_answer>& answer, std::uint64_t,
           std::function<void()> done) override {
    ends_.push_back(how);
    if (answer && ++stores_ == refused_store) {
      ends_.back().aborted = abort_reason::error;
      ends_.back().error = fault{"storage_unavailable", "full", {}};
    } else if (answer) {
      CHECK_FALSE(answer->what.interrupted);
      CHECK_FALSE(answer->what.text.empty());
      text_ += answer->what.text;
    }
    later(std::move(done));
  }

  // ---- loop ----
  step_poster poster() override {
    return [this](std::function<void()> what) { post(std::move(what)); };
  }
  boot_time now() override { return now_; }
  void start_tool(call_number number, const operation_id& call, std::unique_ptr<tool_work>) override {
    CHECK(running_.emplace(number, tool{call, false}).second);
    begin_call(call, [this, number](bool may) {
      if (!may || !stubborn) ended(number);
    });
  }
  void stop_tool(call_number number, const std::string&) override {
    if (const auto at = running_.find(number); at != running_.end()) at->second.stopped = true;
  }
  void over() override { ++overs_; }

  /// The tool's work is over: its stored result goes to the agent, as the tool's actor sends it.
  void ended(call_number number) {
    const auto at = running_.find(number);
    if (at == running_.end()) return;
    const auto& c = calls_.at(at->second.call);
    close_call(at->second.call, {c.call, c.name, true, false, "\"done\""}, [this, number](const tool_result& stands) {
      post([this, number, stands] {
        running_.erase(number);
        if (overs_ == 0) it_->tool_over(number, stands);
      });
    });
  }
  void late_ends() {
    const auto late = running_;
    for (const auto& [number, t] : late) ended(number);
    play();
  }
  void pass(std::chrono::nanoseconds t) {
    now_ = now_ + t;
    it_->tick();
  }

  bool stubborn = false; ///< tools never end by themselves
  bool approves = true;
  int refused_store = 0; ///< the how-manieth is refused

  const std::vector<turn_effects::end>& ends() const { return ends_; }
  std::vector<tool_result> results() const {
    std::vector<tool_result> all;
    for (const auto& id : stored_)
      if (const auto at = results_.find(id); at != results_.end()) all.push_back(at->second);
    return all;
  }
  std::size_t stored() const { return stored_.size(); }
  const std::string& text() const { return text_; }
  int model_calls() const { return model_calls_; }

 private:
  class stream final : public model_stream {
   public:
    stream(stage& of, std::shared_ptr<bool> alive) : of_(of), alive_(std::move(alive)) {}
    void hang_up(std::function<void()> closed) override {
      if (std::exchange(*alive_, false)) --of_.open_streams_;
      of_.later(std::move(closed));
    }
    model_usage used() const override { return {}; }

   private:
    stage& of_;
    std::shared_ptr<bool> alive_;
  };
  struct tool {
    operation_id call;
    bool stopped = false;
  };
  void later(std::function<void()> what) { outside_.push_back(std::move(what)); }
  void post(std::function<void()> what) {
    mailbox_.push_back([this, what = std::move(what)] {
      if (overs_ == 0) what(); // nothing happens after the agent's end
    });
  }

  plain_texts texts_;
  std::vector<std::string> tools_;
  std::deque<std::function<void()>> mailbox_, outside_;
  boot_time now_{1'000'000'000};
  bool stopped_ = false;
  int model_calls_ = 0, stores_ = 0, overs_ = 0, open_streams_ = 0;
  std::set<operation_id> open_model_calls_;
  std::vector<operation_id> stored_;
  std::map<operation_id, tool_call> calls_;
  std::map<operation_id, tool_result> results_;
  std::map<call_number, tool> running_;
  std::set<call_number> reported_;
  std::string spoken_, text_;
  std::vector<turn_effects::end> ends_;
  std::unique_ptr<agent> it_;
};

} // namespace quell::testing
