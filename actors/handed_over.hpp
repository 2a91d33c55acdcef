// A closure on its way through a mailbox.
#pragma once

#include <functional>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <atomic>
#include <memory>
#endif

namespace quell::actors {

/// `what`, for the actor's thread: what was written before is there when it runs. The mailbox sees to that; the thread
/// sanitizer, which cannot look into CAF's library, is told so by an atomic, or it would think about each byte that is
/// read there.
template <class... Args>
std::function<void(Args...)> handed_over(std::function<void(Args...)> what) {
#if defined(__SANITIZE_THREAD__)
  auto mark = std::make_shared<std::atomic<bool>>(false);
  std::function<void(Args...)> marked = [mark, what = std::move(what)](Args... args) {
    while (!mark->load(std::memory_order_acquire)) {
    }
    what(std::forward<Args>(args)...);
  };
  mark->store(true, std::memory_order_release);
  return marked;
#else
  return what;
#endif
}

} // namespace quell::actors
