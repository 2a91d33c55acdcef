// Counts the live operations of each author, so that one author behind a shared token cannot take the whole cluster.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/ledger/slab.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller::live {

/// Counts by the index of the interned author; an index is reused only when its counts are 0.
class author_counts {
 public:
  void add(index author, quell::kind what) {
    if (author >= counts_.size()) counts_.resize(author + 1);
    ++counts_[author].live;
    if (what == quell::kind::turn) ++counts_[author].turns;
  }
  void remove(index author, quell::kind what) {
    --counts_[author].live;
    if (what == quell::kind::turn) --counts_[author].turns;
  }
  std::size_t live(index author) const { return author < counts_.size() ? counts_[author].live : 0; }
  std::size_t turns(index author) const { return author < counts_.size() ? counts_[author].turns : 0; }

 private:
  struct of_author {
    std::uint32_t live = 0, turns = 0;
  };
  std::vector<of_author> counts_;
};

/// The number of lines in which pending tasks wait, by author; lines are served in turn.
inline constexpr std::uint32_t author_lines = 64;

/// The same value in every process (FNV-1a).
inline std::uint8_t line_of_author(std::string_view author) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : author) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return static_cast<std::uint8_t>(hash % author_lines);
}

} // namespace quell::controller::live
