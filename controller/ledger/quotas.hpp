// The shares of live operations: counts by author, so that one author behind a shared token cannot take the whole
// cluster, and the tokens that have a share, so that neither can one token that names many authors. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/ledger/slab.hpp"
#include "controller/orders.hpp"
#include "controller/token_shares.hpp"
#include "protocol/vocabulary.hpp"

namespace quell::controller::live {

/// The live operations of one author, as one token names them: a token can name any author, so what it starts in
/// somebody's name must not count against that person behind another token.
struct author_share {
  std::uint32_t live = 0, turns = 0;
  friend bool operator==(const author_share&, const author_share&) = default;
};

/// Shares by the indices of the interned token and author, which are reused only when their counts are 0.
class author_counts {
 public:
  void add(index token, index author, quell::kind what) {
    author_share& s = shares_[key(token, author)];
    ++s.live;
    if (what == quell::kind::turn) ++s.turns;
  }
  void remove(index token, index author, quell::kind what) {
    const auto at = shares_.find(key(token, author));
    if (what == quell::kind::turn) --at->second.turns;
    if (--at->second.live == 0) shares_.erase(at);
  }
  author_share of(index token, index author) const {
    const auto at = shares_.find(key(token, author));
    return at == shares_.end() ? author_share{} : at->second;
  }
  std::size_t size() const { return shares_.size(); }

 private:
  static std::uint64_t key(index token, index author) { return (std::uint64_t{token} << 32U) | author; }

  std::unordered_map<std::uint64_t, author_share> shares_;
};

/// The live turns that were started with each token, by the index of the interned token, which is reused only when its
/// count is 0.
class token_turns {
 public:
  void count(index token, std::int64_t change) {
    if (token >= turns_.size()) turns_.resize(token + 1);
    turns_[token] += static_cast<std::uint32_t>(change);
  }
  std::uint32_t of(index token) const { return token < turns_.size() ? turns_[token] : 0; }
  std::size_t size() const { return turns_.size(); }

 private:
  std::vector<std::uint32_t> turns_;
};

/// The cutoffs that one token may leave. Beyond them it can cancel only scopes in which work lives, or that have one.
inline constexpr std::size_t most_cutoffs_per_token = 10'000;
/// How many open cancels may cover what is to start. Each end below them is counted in every one of them, and a cancel
/// that covers nothing new joins an open one; so this bounds what an end costs.
inline constexpr std::size_t most_cancels_over_a_start = 1'000;

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
