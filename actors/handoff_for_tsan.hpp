// A closure, or a value, on its way through a mailbox.
#pragma once

#include <functional>
#include <utility>

#if defined(__SANITIZE_THREAD__)
#include <atomic>
#include <memory>
#endif

namespace quell::actors {

/// Wraps `what` for the actor's thread; everything written before is visible when it runs. The mailbox guarantees this.
/// The atomic is only for the thread sanitizer, which cannot see into CAF's library and would otherwise report a race
/// for every byte read there.
template <class Result, class... Args>
std::function<Result(Args...)> annotate_handoff_for_tsan(std::function<Result(Args...)> what) {
#if defined(__SANITIZE_THREAD__)
  auto mark = std::make_shared<std::atomic<bool>>(false);
  std::function<Result(Args...)> marked = [mark, what = std::move(what)](Args... args) {
    while (!mark->load(std::memory_order_acquire)) {
    }
    return what(std::forward<Args>(args)...);
  };
  mark->store(true, std::memory_order_release);
  return marked;
#else
  return what;
#endif
}

/// The same for a value that goes through a mailbox behind a pointer.
class handoff_mark {
 public:
#if defined(__SANITIZE_THREAD__)
  void sent() { sent_.store(true, std::memory_order_release); }
  void received() const {
    while (!sent_.load(std::memory_order_acquire)) {
    }
  }

 private:
  std::atomic<bool> sent_ = false;
#else
  void sent() {}
  void received() const {}
#endif
};

} // namespace quell::actors
