// Addresses are tried one after the other. An address in numbers and `localhost` need no resolver, and so no thread.
#include "cli/http/dialer.hpp"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace quell::cli {

namespace ip = boost::asio::ip;

dialer::dialer(const dialing& with, web_address to, std::string ca_file, std::function<void(outcome)> done)
    : with_(with), to_(std::move(to)), ca_file_(std::move(ca_file)), done_(std::move(done)), resolver_(with.io),
      whole_(with.io), one_(with.io) {}

void dialer::start() {
  whole_.expires_after(with_.limit);
  whole_.async_wait([self = shared_from_this()](const error_code& e) {
    if (!e) self->fail("none within " + std::to_string(self->with_.limit.count() / 1000) + " s");
  });
  boost::asio::post(with_.io, [self = shared_from_this()] { self->resolve(); });
}

void dialer::stop() {
  done_ = nullptr;
  resolver_.cancel();
  whole_.cancel();
  one_.cancel();
  if (wire_) std::exchange(wire_, nullptr)->close();
}

void dialer::resolve() {
  if (!done_) return;
  if (to_.is_tls)
    if (const auto context = with_.trust.of(ca_file_); !context) return fail(context.error());
  const auto port = static_cast<unsigned short>(std::stoi(to_.port));
  error_code error;
  const auto number = ip::make_address(to_.zone.empty() ? to_.host : to_.host + "%" + to_.zone, error);
  if (!error) {
    left_ = {{number, port}};
    return try_next();
  }
  if (to_.host == "localhost" || to_.host.ends_with(".localhost")) {
    left_ = {{ip::address_v4::loopback(), port}, {ip::address_v6::loopback(), port}};
    return try_next();
  }
  // The resolver's thread stays. It must take no signal: those that are not blocked yet will be read from a descriptor.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  const auto flags = ip::resolver_base::address_configured | ip::resolver_base::numeric_service;
  resolver_.async_resolve(to_.host, to_.port, flags,
                          [self = shared_from_this()](const error_code& e, const auto& found) {
                            if (!self->done_) return;
                            if (e) return self->fail("the name is not known: " + e.message());
                            for (const auto& entry : found) self->left_.push_back(entry.endpoint());
                            std::reverse(self->left_.begin(), self->left_.end());
                            self->try_next();
                          });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void dialer::try_next() {
  if (left_.empty()) return fail(last_error_);
  const auto to = left_.back();
  left_.pop_back();
  wire_ = std::make_shared<wire>(with_.io);
  timed_out_ = false;
  if (!left_.empty()) {
    one_.expires_after(with_.limit_of_address);
    one_.async_wait([self = shared_from_this(), tried = wire_](const error_code& e) {
      if (e || tried != self->wire_) return;
      self->timed_out_ = true;
      tried->close();
    });
  }
  wire_->connect(to, [self = shared_from_this()](const error_code& e) { self->connected(e); });
}

void dialer::connected(const error_code& error) {
  if (!done_) return;
  one_.cancel();
  if (error || timed_out_) {
    last_error_ = timed_out_ ? "an address does not answer" : error.message();
    return try_next();
  }
  if (!to_.is_tls) return end(wire_);
  const auto context = with_.trust.of(ca_file_);
  if (!context) return fail(context.error());
  wire_->secure(**context, to_.host, [self = shared_from_this()](const std::string& refused) {
    if (!self->done_) return;
    if (!refused.empty()) return self->fail(refused);
    self->end(self->wire_);
  });
}

void dialer::end(outcome what) {
  auto done = std::exchange(done_, nullptr);
  whole_.cancel();
  one_.cancel();
  resolver_.cancel();
  if (!what && wire_) wire_->close();
  wire_ = nullptr;
  if (done) done(std::move(what));
}

void dialer::fail(const std::string& why) {
  if (done_) end(tl::unexpected("no connection to " + to_.host + " port " + to_.port + ": " + why));
}

} // namespace quell::cli
