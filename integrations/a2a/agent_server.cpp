// The thread of one remote agent. Order: everything goes through one list of jobs, so a call's cancel comes after its
// beginning.
#include "integrations/a2a/agent_server.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "integrations/a2a/agent_talk.hpp"
#include "integrations/ca_file.hpp"

namespace quell::integrations::a2a {
namespace {

using agent_clock = transfers::clock;
using agent_job = std::function<void(agent_talk&, agent_clock::time_point)>;

/// Jobs from any thread for the agent's thread. Lives as long as the server or any call.
class agent_jobs {
 public:
  explicit agent_jobs(transfers& network) : network_(&network) {}
  /// Returns false if the server is gone.
  bool put(agent_job what) {
    const std::lock_guard lock(guard_);
    if (!network_) return false;
    jobs_.push_back(std::move(what));
    network_->wake();
    return true;
  }
  std::vector<agent_job> take() {
    const std::lock_guard lock(guard_);
    return std::exchange(jobs_, {});
  }
  bool is_empty() const {
    const std::lock_guard lock(guard_);
    return jobs_.empty();
  }
  /// The final `take`; afterwards `put` returns false.
  std::vector<agent_job> close() {
    const std::lock_guard lock(guard_);
    network_ = nullptr;
    return std::exchange(jobs_, {});
  }

 private:
  mutable std::mutex guard_;
  transfers* network_;
  std::vector<agent_job> jobs_;
};

class held_task final : public mcp_call {
 public:
  held_task(std::shared_ptr<agent_jobs> box, std::shared_ptr<mcp_call_channel> channel, agent_talk::call_number number)
      : box_(std::move(box)), channel_(std::move(channel)), number_(number) {}
  ~held_task() override {
    if (!channel_->is_over()) cancel({}, nullptr);
  }
  void cancel(std::string reason, late_result_listener late) override {
    channel_->cut();
    channel_->hear(std::move(late));
    if (is_cancelled_.exchange(true)) return;
    const auto stop = [number = number_, reason = std::move(reason)](agent_talk& talk, agent_clock::time_point now) {
      talk.cancel(number, reason, now);
    };
    if (!box_->put(stop)) channel_->became("ignored");
  }
  void stop_waiting() override {
    if (!is_cancelled_) return;
    box_->put([number = number_](agent_talk& talk, agent_clock::time_point) { talk.stop_waiting(number); });
  }
  void answer(std::uint64_t, mcp_answer) override {} // a remote agent asks no questions while a call runs

 private:
  const std::shared_ptr<agent_jobs> box_;
  const std::shared_ptr<mcp_call_channel> channel_;
  const agent_talk::call_number number_;
  std::atomic<bool> is_cancelled_ = false;
};

class agent_server final : public mcp_server {
 public:
  agent_server(std::unique_ptr<transfers> network, agent_talk::settings what)
      : network_(std::move(network)), box_(std::make_shared<agent_jobs>(*network_)),
        talk_(std::make_unique<agent_talk>(*network_, std::move(what))), thread_([this] { run(); }) {}
  ~agent_server() override {
    is_ending_ = true;
    network_->wake();
    thread_.join();
  }

  void tools(tools_reply reply) override {
    box_->put([reply = std::move(reply)](agent_talk& talk, agent_clock::time_point now) { talk.list(reply, now); });
  }
  std::unique_ptr<mcp_call> call(const std::string&, const std::string& input_json,
                                 std::function<void(mcp_call_event)> listener, const std::string& operation) override {
    return begin(input_json, std::move(listener), operation, {});
  }
  std::unique_ptr<mcp_call> follow(const std::string& task, std::function<void(mcp_call_event)> listener) override {
    return begin({}, std::move(listener), {}, task);
  }

 private:
  std::unique_ptr<mcp_call> begin(const std::string& input_json, std::function<void(mcp_call_event)> listener,
                                  const std::string& operation, const std::string& task) {
    auto channel = std::make_shared<mcp_call_channel>(std::move(listener));
    const agent_talk::call_number number = ++numbers_;
    box_->put([=](agent_talk& talk, agent_clock::time_point now) {
      talk.begin(number, channel, input_json, operation, task, now);
    });
    return std::make_unique<held_task>(box_, std::move(channel), number);
  }

  void run() {
    sigset_t all; // signals are for the program's own threads; SIGPIPE stays blocked everywhere
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (look_around(), !is_ending_) wait();
    for (const agent_job& late : box_->close()) late(*talk_, agent_clock::now());
    talk_->end();
    talk_.reset();
  }
  void wait() {
    const bool busy = !box_->is_empty() || talk_->has_news();
    const auto until = std::min(talk_->next(), agent_clock::now() + std::chrono::minutes(1));
    network_->wait(
        busy ? agent_clock::time_point() : until, [this] { look_around(); },
        [](CURL* easy, CURLcode code) { http_exchange::done(easy, code); });
  }
  void look_around() {
    for (const agent_job& one : box_->take()) one(*talk_, agent_clock::now());
    talk_->step(agent_clock::now());
  }

  std::unique_ptr<transfers> network_;
  std::shared_ptr<agent_jobs> box_;
  std::unique_ptr<agent_talk> talk_;
  std::atomic<agent_talk::call_number> numbers_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

} // namespace
} // namespace quell::integrations::a2a

namespace quell::integrations {

result<std::unique_ptr<mcp_server>> a2a_agent_server(std::string name, std::string url, std::string key,
                                                     a2a_options options) {
  const auto who = "remote agent " + name;
  if (a2a::origin_of(url).empty())
    return failure("a2a_refused", who + ": its url is not an http or https URL; write it like https://host/agent");
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return failure("a2a_refused", who + ": its key holds white space or other characters that no key has: check the "
                                        "file or variable that it comes from");
  auto network = transfers::make();
  if (!network) return tl::unexpected(std::move(network.error()));
  if (options.ca_file.empty()) options.ca_file = named_ca_file();
  a2a::agent_talk::settings what;
  what.name = std::move(name);
  what.url = std::move(url);
  what.key = std::move(key);
  what.ca_file = std::move(options.ca_file);
  return std::make_unique<a2a::agent_server>(std::move(*network), std::move(what));
}

} // namespace quell::integrations
