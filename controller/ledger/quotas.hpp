// The shares of live operations: counts by author, so that one author behind a shared token cannot take the whole
// cluster, and the tokens that have a share, so that neither can one token that names many authors. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "controller/ledger/slab.hpp"
#include "controller/orders.hpp"
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

/// Whether a token has a limited share. Whoever owns the machine has no limit, nor has quell's own work, nor has work
/// whose row does not say the token.
inline bool has_share(std::string_view token) {
  return !token.empty() && token != bootstrap_token_id && token != own_token_id;
}

/// Whether what the caller starts below an operation takes the share of that operation's token: a task's token lives no
/// longer than its task, and quell starts calls and sub-agents on behalf of a turn.
inline bool takes_share_of_parent(const caller& by) { return by.task || by.token_id == own_token_id; }

/// The number of lines in which pending tasks wait, by guild and in each by author; lines are served in turn. Two
/// guilds can meet in one line; with so many that is rare.
inline constexpr std::uint32_t guild_queues = 1024, author_queues = 64;

/// The same value in every process (FNV-1a).
inline std::uint32_t hash_of_line(std::string_view name) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return hash;
}
inline std::uint16_t queue_of_guild(std::string_view guild) {
  return static_cast<std::uint16_t>(hash_of_line(guild) % guild_queues);
}
inline std::uint8_t queue_of_author(std::string_view author) {
  return static_cast<std::uint8_t>(hash_of_line(author) % author_queues);
}

} // namespace quell::controller::live
