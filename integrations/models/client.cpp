// The client: one thread on which all calls run, and the handles by which other threads hold them.
//
// Order: `ask` and `cancel` put commands into one mailbox, so a call's close comes after its beginning. A cancel first
// cuts the line, on the caller's thread: what the network delivers between that and the close is dropped.
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>

#include "integrations/ca_file.hpp"
#include "integrations/models/plan.hpp"
#include "integrations/models/running_call.hpp"
#include "integrations/models/web_attempt.hpp"

namespace quell::integrations {
namespace {

class held_model_call final : public model_call {
 public:
  held_model_call(std::shared_ptr<mailbox> box, std::shared_ptr<call_listener> listening)
      : box_(std::move(box)), listening_(std::move(listening)) {}
  ~held_model_call() override {
    if (!listening_->is_cut() && !listening_->has_ended()) cancel(nullptr);
  }
  void cancel(std::function<void()> closed) override {
    listening_->cut();
    post close(listening_, std::move(closed));
    // Refused: the client and its connections are already gone.
    if (!box_->put(close) && close.closed) close.closed();
  }
  model_usage used() const override { return listening_->usage(); }

 private:
  std::shared_ptr<mailbox> box_;
  std::shared_ptr<call_listener> listening_;
};

class client final : public model_client {
 public:
  client(std::unique_ptr<transfers> network, model_client_options options)
      : network_(std::move(network)), options_(std::move(options)),
        box_(std::make_shared<mailbox>([this] { network_->wake(); })), thread_([this] { run(); }) {}
  ~client() override {
    box_->ask_to_end();
    thread_.join();
  }

  std::unique_ptr<model_call> ask(const model_settings& settings, model_request request,
                                  std::function<void(model_event)> listener) override {
    auto listening = std::make_shared<call_listener>(std::move(listener));
    // The slow parts, reading a script and writing the request's body, happen here on the calling thread.
    post begin(listening, plan_call(settings, request, options_.ca_file, *network_, scripts_));
    box_->put(begin);
    return std::make_unique<held_model_call>(box_, std::move(listening));
  }

 private:
  using time_point = model_clock::time_point;
  struct entry {
    std::shared_ptr<call_listener> listening;
    std::unique_ptr<running_call> call;
    time_point alarm = time_point::max(); ///< its key in alarms_
  };

  void run() {
    sigset_t all; // signals are for the program's own threads; SIGPIPE stays blocked everywhere
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    const auto between = [this] { look_around(); };
    const auto done = [](CURL* easy, CURLcode code) { web_attempt::done(easy, code); };
    while (!box_->must_end()) {
      look_around();
      ring();
      const bool busy = box_->waiting() || !touched_.empty();
      const auto until = alarms_.empty() ? model_clock::now() + std::chrono::minutes(1) : alarms_.begin()->first;
      network_->wait(busy ? time_point() : until, between, done);
    }
    end();
  }

  void end() {
    for (auto& [listening, one] : calls_) listening->cut();
    calls_.clear(); // closes the connections
    for (post& late : box_->close()) {
      late.listening->cut();
      if (late.closed) late.closed();
    }
  }

  // Called between any two pieces of network work, so that a cancel waits for at most one piece.
  void look_around() {
    while (box_->waiting())
      for (post& one : box_->take()) {
        if (one.begin)
          begin(one);
        else
          close(one);
      }
    while (!touched_.empty()) {
      const std::vector<call_listener*> touched = std::exchange(touched_, {});
      for (call_listener* listening : touched) step(listening);
    }
  }

  void begin(post& one) {
    if (one.listening->is_cut()) return;
    call_listener* listening = one.listening.get();
    one.begin->connect(
        one.listening, gate_, [this] { return random(); }, [this, listening] { touched_.push_back(listening); });
    calls_.emplace(listening, entry{one.listening, std::move(one.begin), time_point::max()});
    step(listening);
  }

  void close(post& one) {
    drop(calls_.find(one.listening.get()));
    if (one.closed) one.closed();
  }

  using calls = std::unordered_map<call_listener*, entry>;
  void drop(calls::iterator found) {
    if (found == calls_.end()) return;
    found->second.listening->end();
    alarms_.erase({found->second.alarm, found->first});
    // Remove it from the table first: its destructor can run foreign code.
    const entry over = std::move(found->second);
    calls_.erase(found);
  }

  void step(call_listener* listening) {
    const auto found = calls_.find(listening);
    if (found == calls_.end()) return;
    running_call& call = *found->second.call;
    if (!listening->is_cut()) call.step(model_clock::now());
    if (call.over()) return drop(found);
    // An early alarm is harmless: it is set again when it fires. So a sign of life costs nothing here.
    entry& one = found->second;
    if (const time_point next = call.next(); next < one.alarm) {
      alarms_.erase({one.alarm, listening});
      one.alarm = next;
      alarms_.insert({next, listening});
    }
  }

  void ring() {
    const time_point now = model_clock::now();
    while (!alarms_.empty() && alarms_.begin()->first <= now && !box_->waiting()) {
      call_listener* listening = alarms_.begin()->second;
      alarms_.erase(alarms_.begin());
      calls_.at(listening).alarm = time_point::max();
      step(listening);
    }
  }

  double random() {
    if (options_.random) return options_.random();
    return std::uniform_real_distribution<double>(0, 1)(generator_);
  }

  std::unique_ptr<transfers> network_;
  const model_client_options options_;
  script_shelf scripts_;
  std::mt19937_64 generator_{std::random_device{}()};
  model_gate gate_;
  calls calls_;
  std::set<std::pair<time_point, call_listener*>> alarms_;
  std::vector<call_listener*> touched_; ///< calls whose step is due; some may already be destroyed
  std::shared_ptr<mailbox> box_;
  std::thread thread_; ///< last: it uses all members above
};

} // namespace

result<std::unique_ptr<model_client>> model_client::make() { return make({}); }

result<std::unique_ptr<model_client>> model_client::make(model_client_options options) {
  auto network = transfers::make();
  if (!network) return tl::unexpected(std::move(network.error()));
  if (options.ca_file.empty()) options.ca_file = named_ca_file();
  return std::make_unique<client>(std::move(*network), std::move(options));
}

} // namespace quell::integrations
