// Stores equal values once and names each by an index; a value is freed when its last holder releases it.
#pragma once

#include <map>
#include <vector>

#include "controller/ledger/slab.hpp"

namespace quell::controller::live {

template <class T>
class interner {
 public:
  /// The index of `value`, with one more holder.
  index hold(const T& value) {
    if (last_ != none && slots_[last_].where->first == value) return hold_again(last_);
    auto [at, fresh] = by_value_.try_emplace(value, none);
    if (fresh) {
      at->second = slots_.make();
      slots_[at->second].where = at;
    }
    last_ = at->second;
    return hold_again(last_);
  }
  /// One more holder of a value that has one.
  index hold_again(index i) {
    ++slots_[i].holders;
    return i;
  }
  void release(index i) {
    slot& s = slots_[i];
    if (--s.holders > 0) return;
    by_value_.erase(s.where);
    if (last_ == i) last_ = none;
    slots_.drop(i);
  }
  /// The index of `value` if it has a holder, else `none`.
  index find(const T& value) const {
    const auto at = by_value_.find(value);
    return at == by_value_.end() ? none : at->second;
  }
  std::uint32_t holders(index i) const { return slots_[i].holders; }
  const T& operator[](index i) const { return slots_[i].where->first; }
  std::size_t size() const { return slots_.size(); }

 private:
  using map = std::map<T, index>;
  struct slot {
    typename map::iterator where{};
    std::uint32_t holders = 0;
  };
  map by_value_;
  slab<slot> slots_;
  index last_ = none; ///< asked for last: mostly the next one, too
};

} // namespace quell::controller::live
