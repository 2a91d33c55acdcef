// Operation id to slab index: a flat open-addressing table of 8-byte entries (about 16 bytes an operation).
//
// The operations hold the ids; `id_of(index)` returns one. Each entry holds half of its id's hash beside the index: the
// table grows without a look at the operations, which lie all over the memory (at 800,000 live ones that was a pause of
// 40 ms), and an operation is read only if the hashes are equal. Removal shifts the following entries back, so there
// are no deleted markers.
#pragma once

#include <functional>
#include <vector>

#include "controller/ledger/slab.hpp"
#include "protocol/id.hpp"

namespace quell::controller::live {

class id_index {
 public:
  template <class IdOf>
  index find(const operation_id& id, const IdOf& id_of) const {
    if (table_.empty()) return none;
    const auto hash = hash_of(id);
    for (std::size_t at = home(hash);; at = next(at)) {
      const entry& e = table_[at];
      if (e.value == none) return none;
      if (e.hash == hash && id_of(e.value) == id) return e.value;
    }
  }
  /// `id` must not be in the table.
  void add(const operation_id& id, index value) {
    if ((used_ + 1) * 4 > table_.size() * 3) grow();
    place({value, hash_of(id)});
    ++used_;
  }
  template <class IdOf>
  void drop(const operation_id& id, const IdOf& id_of) {
    if (table_.empty()) return;
    const auto hash = hash_of(id);
    const auto is_wanted = [&](const entry& e) { return e.hash == hash && id_of(e.value) == id; };
    std::size_t hole = home(hash);
    while (table_[hole].value != none && !is_wanted(table_[hole])) hole = next(hole);
    if (table_[hole].value == none) return;
    for (std::size_t at = next(hole); table_[at].value != none; at = next(at)) {
      const std::size_t wanted = home(table_[at].hash);
      const bool may_move_back = ((at - wanted) & mask()) >= ((at - hole) & mask());
      if (!may_move_back) continue;
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = {};
    --used_;
  }
  std::size_t memory_bytes() const { return table_.capacity() * sizeof(entry); }

 private:
  struct entry {
    index value = none;
    std::uint32_t hash = 0;
  };
  static std::uint32_t hash_of(const operation_id& id) {
    return static_cast<std::uint32_t>(std::hash<operation_id>{}(id)*0x9e3779b97f4a7c15ULL >> 32);
  }
  std::size_t mask() const { return table_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  std::size_t home(std::uint32_t hash) const { return hash & mask(); }
  void place(const entry& e) {
    std::size_t at = home(e.hash);
    while (table_[at].value != none) at = next(at);
    table_[at] = e;
  }
  void grow() {
    std::vector<entry> old(table_.empty() ? 1024 : table_.size() * 2);
    old.swap(table_);
    for (const entry& e : old)
      if (e.value != none) place(e);
  }

  std::vector<entry> table_;
  std::size_t used_ = 0;
};

} // namespace quell::controller::live
