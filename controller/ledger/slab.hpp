// A slab: values in chunks, named by 32-bit indices that are reused. No value ever moves, and growth copies nothing.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace quell::controller::live {

using index = std::uint32_t;
inline constexpr index none = 0xffffffffU;

template <class T>
class slab {
 public:
  /// A new, default-constructed value.
  index make() {
    if (free_.empty()) {
      const auto first = static_cast<index>(chunks_.size() << shift);
      chunks_.push_back(std::make_unique<T[]>(chunk));
      free_.reserve(chunk);
      for (index i = chunk; i > 0; --i) free_.push_back(first + i - 1);
    }
    const index i = free_.back();
    free_.pop_back();
    ++used_;
    return i;
  }
  void drop(index i) {
    (*this)[i] = T{};
    free_.push_back(i);
    --used_;
  }
  T& operator[](index i) {
    assert((i >> shift) < chunks_.size());
    return chunks_[i >> shift][i & (chunk - 1)];
  }
  const T& operator[](index i) const {
    assert((i >> shift) < chunks_.size());
    return chunks_[i >> shift][i & (chunk - 1)];
  }
  std::size_t size() const { return used_; }
  /// One past the largest index handed out so far.
  index end_index() const { return static_cast<index>(chunks_.size() << shift); }

 private:
  static constexpr unsigned shift = 10;
  static constexpr index chunk = 1U << shift;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<index> free_;
  std::size_t used_ = 0;
};

} // namespace quell::controller::live
