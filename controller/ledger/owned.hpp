// A field that everybody reads and only one type changes, so that the links and counts in a node can be public to read
// without costing a byte or a call.
#pragma once

#include <string_view>

namespace quell::controller::live {

/// A small value that only `Owner` assigns. Whole nodes can be moved, which is how a slab empties a slot.
template <class Owner, class T>
class owned {
 public:
  explicit constexpr owned(T value) : value_(value) {}
  owned(const owned&) = default;
  owned(owned&&) = default;
  owned& operator=(owned&&) = default;
  ~owned() = default;
  constexpr operator T() const { return value_; }

 private:
  friend Owner;
  owned& operator=(const owned&) = default;
  owned& operator=(T value) {
    value_ = value;
    return *this;
  }
  owned& operator++() {
    ++value_;
    return *this;
  }
  owned& operator--() {
    --value_;
    return *this;
  }
  T value_;
};

/// The name of an enumerator that is held so.
template <class Owner, class T>
constexpr std::string_view name_of(const owned<Owner, T>& value) {
  return name_of(static_cast<T>(value));
}

} // namespace quell::controller::live
