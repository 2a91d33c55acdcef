// Operation id to slab index: a flat open-addressing table of 4-byte entries (about 8 bytes an operation).
//
// The operations hold the ids; `id_of(index)` returns one. Removal shifts the following entries back, so there are no
// deleted markers.
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
    for (std::size_t at = home(id);; at = next(at)) {
      if (table_[at] == none) return none;
      if (id_of(table_[at]) == id) return table_[at];
    }
  }
  /// `id` must not be in the table.
  template <class IdOf>
  void add(const operation_id& id, index value, const IdOf& id_of) {
    if ((used_ + 1) * 4 > table_.size() * 3) grow(id_of);
    place(id, value);
    ++used_;
  }
  template <class IdOf>
  void drop(const operation_id& id, const IdOf& id_of) {
    if (table_.empty()) return;
    std::size_t hole = home(id);
    while (table_[hole] != none && id_of(table_[hole]) != id) hole = next(hole);
    if (table_[hole] == none) return;
    for (std::size_t at = next(hole); table_[at] != none; at = next(at)) {
      const std::size_t wanted = home(id_of(table_[at]));
      const bool may_move_back = ((at - wanted) & mask()) >= ((at - hole) & mask());
      if (!may_move_back) continue;
      table_[hole] = table_[at];
      hole = at;
    }
    table_[hole] = none;
    --used_;
  }
  std::size_t memory_bytes() const { return table_.capacity() * sizeof(index); }

 private:
  std::size_t mask() const { return table_.size() - 1; }
  std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  std::size_t home(const operation_id& id) const {
    return (std::hash<operation_id>{}(id)*0x9e3779b97f4a7c15ULL >> 20) & mask();
  }
  void place(const operation_id& id, index value) {
    std::size_t at = home(id);
    while (table_[at] != none) at = next(at);
    table_[at] = value;
  }
  template <class IdOf>
  void grow(const IdOf& id_of) {
    std::vector<index> old(table_.empty() ? 1024 : table_.size() * 2, none);
    old.swap(table_);
    for (const index value : old)
      if (value != none) place(id_of(value), value);
  }

  std::vector<index> table_;
  std::size_t used_ = 0;
};

} // namespace quell::controller::live
