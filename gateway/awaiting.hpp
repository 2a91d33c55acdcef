// Waits of the gateway's coroutines: for answers of the controller, for signals, and for the clock. Includes as little
// of Asio as a coroutine needs, because every handler includes this file.
#pragma once

#include <utility>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>

#include "controller/order_claim.hpp"
#include "gateway/problem.hpp"

namespace boost::asio {
class io_context;
}

// g++ 12 inlines Asio's frame allocator on one side of a coroutine and not on the other, and warns about a mismatched
// pair.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace quell::controller::http {

template <class T = void>
using awaitable = boost::asio::awaitable<T>;
using io_context = boost::asio::io_context;

using wait_deadline = std::chrono::steady_clock::time_point;

/// Runs `work` later on the thread of `io`. Any thread.
void post_to(io_context& io, std::function<void()> work);

/// Wakes one waiting coroutine. Belongs to the thread of its `io`; a notice without a waiter is kept.
class signal {
 public:
  explicit signal(io_context& io);
  ~signal();
  signal(const signal&) = delete;
  signal& operator=(const signal&) = delete;

  void notify();
  /// True once notified (this consumes the notice), false at `until`.
  awaitable<bool> wait_until(wait_deadline until);

 private:
  struct timer;
  std::unique_ptr<timer> timer_;
  bool notified_ = false;
};

/// The longest wait of a handler for the controller or the store before it reports a problem. Both normally answer
/// within a commit, so this covers only faults.
inline constexpr std::chrono::seconds controller_timeout{30};

/// Receives the answer from another thread. Keeps the io_context alive, so that an answer after the end of the gateway
/// is dropped instead of written to freed memory.
template <class T>
struct answer_slot {
  explicit answer_slot(std::shared_ptr<io_context> context) : io(std::move(context)), arrived(*io) {}
  std::shared_ptr<io_context> io;
  signal arrived;
  std::optional<T> value;
};

[[noreturn]] void give_up_waiting();

/// Delivers the answer, from any thread.
template <class T>
std::function<void(T)> reply_to(std::shared_ptr<answer_slot<T>> slot) {
  return [slot = std::move(slot)](T value) {
    auto kept = std::make_shared<T>(std::move(value));
    post_to(*slot->io, [slot, kept] {
      slot->value = std::move(*kept);
      slot->arrived.notify();
    });
  };
}

/// Calls `start(reply)` and waits for the one answer, which can come on any thread. If none comes, `give_up` throws the
/// problem that reports this.
template <class T>
awaitable<T> ask(std::shared_ptr<io_context> io, std::function<void(std::function<void(T)>)> start,
                 void (*give_up)() = give_up_waiting) {
  auto slot = std::make_shared<answer_slot<T>>(std::move(io));
  start(reply_to(slot));
  co_await slot->arrived.wait_until(std::chrono::steady_clock::now() + controller_timeout);
  if (!slot->value) give_up();
  co_return std::move(*slot->value);
}

[[noreturn]] void say_withdrawn();

/// The same for an order whose outcome must not stay in doubt: an order that did not begin in time is withdrawn, and
/// the problem says that nothing was done; an order that began is awaited without limit, since its answer comes with
/// its commit.
template <class T>
awaitable<T> ask_for_sure(std::shared_ptr<io_context> io, std::shared_ptr<order_claim> claim,
                          std::function<void(std::function<void(T)>)> start,
                          std::chrono::milliseconds begun_within = controller_timeout) {
  auto slot = std::make_shared<answer_slot<T>>(std::move(io));
  start(reply_to(slot));
  while (true) {
    co_await slot->arrived.wait_until(std::chrono::steady_clock::now() + begun_within);
    if (slot->value) co_return std::move(*slot->value);
    if (claim->take()) say_withdrawn();
  }
}

} // namespace quell::controller::http
