// The event loop on Boost.Asio. Every handler is followed by a look at `done`, so nothing runs once the caller has what
// it waited for.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <utility>

#include "cli/http.hpp"
#include "cli/http/descriptor_watch.hpp"
#include "cli/http/exchange.hpp"

namespace quell::cli {

struct event_loop::implementation {
  // No hint that there is one thread: Asio would then keep what a handler starts from a loop inside that handler.
  boost::asio::io_context io;
  boost::asio::steady_timer pulse{io};
  tls_contexts trust;
  kept_wires kept;
  std::map<handle, std::shared_ptr<exchange>> transfers;
  std::map<int, std::shared_ptr<descriptor_watch>> watches;
  std::map<handle, std::unique_ptr<boost::asio::steady_timer>> timers;
  handle last = 0;

  /// So that no wait is longer than this, whatever else there is to wait for.
  void beat() {
    pulse.expires_after(std::chrono::seconds(10));
    pulse.async_wait([this](const boost::system::error_code& e) {
      if (!e) beat();
    });
  }
};

event_loop::event_loop() : self_(std::make_unique<implementation>()) { self_->beat(); }

event_loop::~event_loop() {
  for (auto& [id, transfer] : self_->transfers) transfer->abandon();
  for (auto& [descriptor, watch] : self_->watches) watch->stop();
}

event_loop::handle event_loop::start(http_request request, http_sink sink) {
  const handle id = ++self_->last;
  auto transfer = std::make_shared<exchange>(dialing{self_->io, self_->trust}, self_->kept, std::move(request),
                                             std::move(sink), [this, id] { self_->transfers.erase(id); });
  transfer->start();
  self_->transfers.emplace(id, std::move(transfer));
  return id;
}

void event_loop::abandon(handle transfer) {
  const auto found = self_->transfers.find(transfer);
  if (found == self_->transfers.end()) return;
  const auto kept_alive = std::move(found->second);
  self_->transfers.erase(found);
  kept_alive->abandon();
}

void event_loop::resume(handle transfer) {
  const auto found = self_->transfers.find(transfer);
  if (found != self_->transfers.end()) found->second->resume();
}

void event_loop::watch(int descriptor, ready_for what, std::function<void()> ready) {
  unwatch(descriptor);
  auto watch = std::make_shared<descriptor_watch>(self_->io, descriptor, what, std::move(ready));
  watch->wait();
  self_->watches.emplace(descriptor, std::move(watch));
}

void event_loop::unwatch(int descriptor) {
  const auto found = self_->watches.find(descriptor);
  if (found == self_->watches.end()) return;
  found->second->stop();
  self_->watches.erase(found);
}

event_loop::handle event_loop::after(milliseconds delay, std::function<void()> action) {
  const handle id = ++self_->last;
  auto& timer = self_->timers[id] = std::make_unique<boost::asio::steady_timer>(self_->io, delay);
  timer->async_wait([this, id, action = std::move(action)](const boost::system::error_code&) {
    if (self_->timers.erase(id) == 1) action(); // not if it was forgotten after it was due
  });
  return id;
}

void event_loop::forget(handle timer) { self_->timers.erase(timer); }

void event_loop::run_until(const std::function<bool()>& done) {
  while (!done()) self_->io.run_one();
}

} // namespace quell::cli
