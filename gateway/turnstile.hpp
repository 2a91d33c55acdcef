// Lets big answers begin one at a time, with a pass of the event loop between them: whoever asks for hundreds of them
// at once delays a small answer by one big one, not by all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gateway/awaiting.hpp"
#include "gateway/fair_queue.hpp"

namespace quell::controller::http {

/// Belongs to the thread of `io`; must outlive its waiters' wake-ups, which hold it.
class turnstile : public std::enable_shared_from_this<turnstile> {
 public:
  /// An answer of fewer bytes needs no turn: copying it takes less than waiting for one.
  static constexpr std::size_t least_bytes = 16 * 1024;

  explicit turnstile(io_context& io) : io_(io) {}

  /// Waits for a turn. Of many callers, the one that has written the fewest bytes comes next; answers of one caller
  /// come in their order.
  awaitable<> pass(std::string who, std::size_t bytes);

 private:
  struct ticket {
    std::shared_ptr<signal> turn;
    std::size_t bytes = 0;
  };
  void next();
  void look_again();

  io_context& io_;
  fair_queue<ticket> queue_{1};
  bool is_turning_ = false; ///< somebody has passed in this pass of the event loop
};

} // namespace quell::controller::http
