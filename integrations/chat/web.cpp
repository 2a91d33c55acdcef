// A connector's loop: libcurl's transfers and the connector's own work on one thread.
#include "integrations/chat/web.hpp"

#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>

#include "integrations/chat/web_transfer.hpp"

namespace quell::integrations::chat {

struct web_loop::implementation {
  std::unique_ptr<transfers> network;
  std::function<std::optional<boot_time>(boot_time)> turn;
  std::thread thread;
  std::atomic<bool> stops{false};
  std::atomic<std::uint64_t> last{0};
  std::mutex mutex;
  std::vector<std::function<void()>> jobs;
  // Used by the loop's thread only:
  std::unordered_map<std::uint64_t, std::unique_ptr<web_transfer>> running;
  std::unordered_map<CURL*, std::uint64_t> numbers;

  void work();
  bool run_jobs();
  void begin(std::uint64_t number, web_request request, std::function<void(web_response)> done);
  void ended(CURL* easy, CURLcode code);
};

bool web_loop::implementation::run_jobs() {
  std::vector<std::function<void()>> now;
  {
    const std::lock_guard lock(mutex);
    now.swap(jobs);
  }
  for (auto& job : now) {
    if (stops) break;
    job();
  }
  return !now.empty();
}

void web_loop::implementation::begin(std::uint64_t number, web_request request,
                                     std::function<void(web_response)> done) {
  auto transfer = std::make_unique<web_transfer>(*network, std::move(request), std::move(done));
  numbers.emplace(transfer->handle(), number);
  running.emplace(number, std::move(transfer));
}

void web_loop::implementation::ended(CURL* easy, CURLcode code) {
  const auto number = numbers.find(easy);
  if (number == numbers.end()) return;
  const auto found = running.find(number->second);
  const auto over = std::move(found->second); // `done` can begin another request, or cancel this one
  running.erase(found);
  numbers.erase(number);
  over->finish(code);
}

void web_loop::implementation::work() {
  using clock = transfers::clock;
  while (!stops) {
    // Work that a job or `turn` has queued wakes the wait below, so nothing is left behind.
    run_jobs();
    if (stops) break;
    const auto now = web_loop::now();
    const auto next = turn(now);
    auto until = clock::now() + std::chrono::seconds(60);
    if (next) until = std::min(until, clock::now() + std::chrono::duration_cast<clock::duration>(*next - now));
    network->wait(
        until, [] {}, [this](CURL* easy, CURLcode code) { ended(easy, code); });
  }
  numbers.clear();
  running.clear();
  const std::lock_guard lock(mutex);
  jobs.clear();
}

web_loop::web_loop(std::unique_ptr<implementation> c) : implementation_(std::move(c)) {}

result<std::unique_ptr<web_loop>> web_loop::start(std::function<std::optional<boot_time>(boot_time)> turn) {
  auto network = transfers::make();
  if (!network) return tl::unexpected(network.error());
  auto c = std::make_unique<implementation>();
  c->network = std::move(*network);
  c->turn = std::move(turn);
  auto* raw = c.get();
  try {
    c->thread = std::thread([raw] { raw->work(); });
  } catch (const std::system_error& e) {
    return failure(error_code::internal, std::string("no thread for a chat service: ") + e.what());
  }
  return std::unique_ptr<web_loop>(new web_loop(std::move(c)));
}

web_loop::~web_loop() { stop(); }

void web_loop::run(std::function<void()> job) {
  {
    const std::lock_guard lock(implementation_->mutex);
    if (implementation_->stops) return;
    implementation_->jobs.push_back(std::move(job));
  }
  implementation_->network->wake();
}

std::uint64_t web_loop::fetch(web_request request, std::function<void(web_response)> done) {
  const auto number = ++implementation_->last;
  run([c = implementation_.get(), number, request = std::move(request), done = std::move(done)]() mutable {
    c->begin(number, std::move(request), std::move(done));
  });
  return number;
}

void web_loop::cancel(std::uint64_t number) {
  const auto found = implementation_->running.find(number);
  if (found != implementation_->running.end()) {
    implementation_->numbers.erase(found->second->handle());
    implementation_->running.erase(found);
    return;
  }
  // The request may still be queued: its job runs first, then this one.
  run([c = implementation_.get(), number] {
    const auto late = c->running.find(number);
    if (late == c->running.end()) return;
    c->numbers.erase(late->second->handle());
    c->running.erase(late);
  });
}

void web_loop::stop() {
  implementation_->stops = true;
  implementation_->network->wake();
  if (implementation_->thread.joinable()) implementation_->thread.join();
}

} // namespace quell::integrations::chat
