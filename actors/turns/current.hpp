// A value that a reload of the configuration replaces as a whole, while others read it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace quell::controller::turns {

/// Any thread. A reader keeps its snapshot for as long as it uses parts of it.
template <class T>
class current {
 public:
  using snapshot = std::shared_ptr<const T>;

  current() : now_(std::make_shared<const T>()) {}
  explicit current(T first) : now_(std::make_shared<const T>(std::move(first))) {}

  snapshot get() const {
    const std::lock_guard lock(guard_);
    return now_;
  }
  /// Reads one value. The snapshot ends with the expression, so keep no reference to its parts.
  snapshot operator->() const { return get(); }
  void set(T next) {
    auto made = std::make_shared<const T>(std::move(next));
    const std::lock_guard lock(guard_);
    now_.swap(made); // the old value is destroyed after the lock is released
  }

 private:
  mutable std::mutex guard_;
  snapshot now_;
};

} // namespace quell::controller::turns
