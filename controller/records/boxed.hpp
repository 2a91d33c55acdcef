// A value on the heap with the semantics of a value: for large members of a variant, which would otherwise make every
// other alternative as large.
#pragma once

#include <memory>
#include <utility>

namespace quell::records {

/// Copied deeply; empty only after it was moved from.
template <class T>
class boxed {
 public:
  boxed() : value_(std::make_unique<T>()) {}
  boxed(T value) : value_(std::make_unique<T>(std::move(value))) {} // NOLINT: made where the value is expected
  boxed(const boxed& other) : value_(std::make_unique<T>(*other)) {}
  boxed(boxed&&) noexcept = default;
  boxed& operator=(const boxed& other) {
    value_ = std::make_unique<T>(*other);
    return *this;
  }
  boxed& operator=(boxed&&) noexcept = default;
  ~boxed() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

} // namespace quell::records
