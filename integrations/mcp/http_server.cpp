// An MCP server over HTTP: its thread, and the handles by which other threads hold its calls.
//
// Order: everything goes through one list of jobs, so a call's cancel comes after its beginning. A cancel first cuts
// the line, on the caller's thread: what the network delivers between that and the close is dropped.
#include "integrations/mcp/http_server.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include "integrations/ca_file.hpp"
#include "integrations/mcp/http_conversation.hpp"

namespace quell::integrations {
namespace {

using clock = transfers::clock;
using job = std::function<void(http_conversation&, clock::time_point)>;

/// Jobs from any thread for the server's thread. Lives as long as the server or any call.
class jobs {
 public:
  explicit jobs(transfers& network) : network_(&network) {}
  /// Returns false if the server is gone.
  bool put(job what) {
    const std::lock_guard lock(guard_);
    if (!network_) return false;
    jobs_.push_back(std::move(what));
    waiting_ = true;
    network_->wake();
    return true;
  }
  bool waiting() const { return waiting_; }
  std::vector<job> take() {
    const std::lock_guard lock(guard_);
    waiting_ = false;
    return std::exchange(jobs_, {});
  }
  /// The final `take`; afterwards `put` returns false.
  std::vector<job> close() {
    const std::lock_guard lock(guard_);
    network_ = nullptr;
    waiting_ = false;
    return std::exchange(jobs_, {});
  }

 private:
  std::mutex guard_;
  transfers* network_;
  std::vector<job> jobs_;
  std::atomic<bool> waiting_ = false;
};

class held_http_call final : public mcp_call {
 public:
  held_http_call(std::shared_ptr<jobs> box, std::shared_ptr<mcp_call_channel> channel,
                 http_conversation::call_number number)
      : box_(std::move(box)), channel_(std::move(channel)), number_(number) {}
  ~held_http_call() override {
    if (!channel_->is_over()) cancel({}, nullptr);
  }
  void cancel(std::string reason, late_result_listener late) override {
    channel_->cut();
    channel_->hear(std::move(late));
    if (cancelled_.exchange(true)) return;
    const auto close = [number = number_, reason = std::move(reason)](
                           http_conversation& server, clock::time_point now) { server.cancel(number, reason, now); };
    if (!box_->put(close)) channel_->became("ignored");
  }
  void stop_waiting() override {
    if (!cancelled_) return;
    box_->put([number = number_](http_conversation& server, clock::time_point) { server.stop_waiting(number); });
  }
  void answer(std::uint64_t question, mcp_answer what) override {
    if (channel_->is_over()) return;
    box_->put([number = number_, question, what = std::move(what)](http_conversation& server, clock::time_point now) {
      server.answer(number, question, what, now);
    });
  }

 private:
  std::shared_ptr<jobs> box_;
  std::shared_ptr<mcp_call_channel> channel_;
  const http_conversation::call_number number_;
  std::atomic<bool> cancelled_ = false;
};

class server final : public mcp_server {
 public:
  server(std::unique_ptr<transfers> network, http_conversation::settings what)
      : network_(std::move(network)), box_(std::make_shared<jobs>(*network_)) {
    what.post = [box = std::weak_ptr(box_)](job later) {
      if (const auto to = box.lock()) to->put(std::move(later));
    };
    what.random = [this] { return std::uniform_real_distribution<double>(0, 1)(generator_); };
    conversation_ = std::make_unique<http_conversation>(*network_, std::move(what));
    box_->put([](http_conversation& talk, clock::time_point now) { talk.begin_handshake(now); });
    thread_ = std::thread([this] { run(); });
  }
  ~server() override {
    ending_ = true;
    network_->wake();
    thread_.join();
  }

  void tools(tools_reply reply) override {
    box_->put([reply = std::move(reply)](http_conversation& talk, clock::time_point now) { talk.list(reply, now); });
  }
  std::unique_ptr<mcp_call> call(const std::string& tool, const std::string& input_json,
                                 std::function<void(mcp_call_event)> listener, const std::string& operation) override {
    auto channel = std::make_shared<mcp_call_channel>(std::move(listener));
    const http_conversation::call_number number = ++numbers_;
    box_->put([=](http_conversation& talk, clock::time_point now) {
      talk.begin(number, channel, tool, input_json, operation, now);
    });
    return std::make_unique<held_http_call>(box_, std::move(channel), number);
  }

 private:
  void run() {
    sigset_t all; // signals are for the program's own threads; SIGPIPE stays blocked everywhere
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (look_around(), !ending_) wait();
    for (const job& late : box_->close()) late(*conversation_, clock::now());
    conversation_->end(clock::now());
    while (look_around(), !conversation_->is_quiet()) wait(); // terminates: each exchange has a time limit
    conversation_->abandon();
    conversation_.reset();
  }
  void wait() {
    const bool busy = box_->waiting() || conversation_->has_news();
    const auto until = std::min(conversation_->next(), clock::now() + std::chrono::minutes(1));
    network_->wait(
        busy ? clock::time_point() : until, [this] { look_around(); },
        [](CURL* easy, CURLcode code) { http_exchange::done(easy, code); });
  }
  // Called between any two pieces of network work, so that a cancel waits for at most one piece.
  void look_around() {
    while (box_->waiting())
      for (const job& one : box_->take()) one(*conversation_, clock::now());
    conversation_->step(clock::now());
  }

  std::unique_ptr<transfers> network_;
  std::mt19937_64 generator_{std::random_device{}()};
  std::shared_ptr<jobs> box_;
  std::unique_ptr<http_conversation> conversation_;
  std::atomic<http_conversation::call_number> numbers_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

std::optional<fault> wrong_address(const std::string& name, const std::string& url, const std::string& key) {
  const std::string who = mcp::who_is(name);
  const std::unique_ptr<CURLU, void (*)(CURLU*)> parsed(curl_url(), curl_url_cleanup);
  char* scheme = nullptr;
  bool web = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK &&
             curl_url_get(parsed.get(), CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK;
  web = web && (std::string_view(scheme) == "http" || std::string_view(scheme) == "https");
  curl_free(scheme);
  if (!web)
    return fault{"mcp_refused", who + ": its url is not an http or https URL; write it like https://host/mcp", {}};
  if (std::any_of(key.begin(), key.end(), [](unsigned char c) { return c <= ' ' || c >= 0x7F; }))
    return fault{"mcp_refused",
                 who + ": its key holds white space or other characters that no key has: check the file or variable "
                       "that it comes from",
                 {}};
  return std::nullopt;
}

} // namespace

result<std::unique_ptr<mcp_server>> mcp_http_server(std::string name, std::string url, std::string key,
                                                    mcp_http_options options, mcp_hooks hooks) {
  if (auto wrong = wrong_address(name, url, key)) return tl::unexpected(std::move(*wrong));
  auto network = transfers::make();
  if (!network) return tl::unexpected(std::move(network.error()));
  if (options.ca_file.empty()) options.ca_file = named_ca_file();
  return std::make_unique<server>(
      std::move(*network),
      http_conversation::settings{
          std::move(name), std::move(url), std::move(key), std::move(options), std::move(hooks), {}, {}});
}

} // namespace quell::integrations
