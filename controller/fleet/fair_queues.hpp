// The waiting tasks of one requirement, in queues by guild and author. Pure.
//
// The next task is that of the guild whose turn it is, in it that of the author whose turn it is, and there the oldest.
// Turns are given when a task becomes the next one, so a thousand tasks of one guild take a thousand turns however many
// people sent them, and the first task of another guild waits behind one of them.
//
// A queue can rest: its first task may not start now, whatever worker is free, and it takes no turns. If all rest, no
// task is the next one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/id.hpp"

namespace quell::controller {

/// The queue in which a task waits.
struct queue_name {
  std::uint16_t guild = 0;
  std::uint8_t author = 0;
};

/// The turns that guilds, and in them authors, have had, over all requirements.
class turn_counts {
 public:
  struct given {
    queue_name queue;
    std::uint64_t guild_turn = 0, author_turn = 0;
  };
  given give(const queue_name& queue) {
    auto& guild = turns_of(queue.guild);
    auto& author = guild.authors[queue.author];
    guild.last = std::max(guild.last, placed_) + 1;
    author = std::max(author, guild.placed) + 1;
    return {queue, guild.last, author};
  }
  /// The task with this turn was not placed: it was stale.
  void take_back(const given& g) {
    auto& guild = turns_of(g.queue.guild);
    auto& author = guild.authors[g.queue.author];
    // Each turn given raised them by at least 1, so a step back never gains anything, in whatever order they come back.
    if (guild.last > 0) --guild.last;
    if (author > 0) --author;
  }
  void placed(const given& g) {
    placed_ = std::max(placed_, g.guild_turn);
    auto& guild = turns_of(g.queue.guild);
    guild.placed = std::max(guild.placed, g.author_turn);
  }

  /// The lowest is next: the turn that a queue would get, then who was served longest ago.
  using rank = std::pair<std::uint64_t, std::uint64_t>;
  rank rank_of_guild(std::uint16_t guild) const {
    const auto last = guild < guilds_.size() ? guilds_[guild].last : 0;
    return {std::max(last, placed_), last};
  }
  rank rank_of_author(const queue_name& queue) const {
    if (queue.guild >= guilds_.size()) return {0, 0};
    const auto& guild = guilds_[queue.guild];
    const auto author = guild.authors.find(queue.author);
    const auto last = author == guild.authors.end() ? 0 : author->second;
    return {std::max(last, guild.placed), last};
  }

 private:
  struct guild_turns {
    std::uint64_t last = 0;                        ///< given to a task of this guild
    std::uint64_t placed = 0;                      ///< of its authors: of the task placed last
    std::map<std::uint8_t, std::uint64_t> authors; ///< the last turn given to each queue
  };
  guild_turns& turns_of(std::uint16_t guild) {
    if (guild >= guilds_.size()) guilds_.resize(guild + std::size_t{1});
    return guilds_[guild];
  }
  std::vector<guild_turns> guilds_; ///< by queue
  std::uint64_t placed_ = 0;        ///< the guild's turn of the task placed last
};

class fair_queues {
 public:
  struct entry {
    operation_id id;
    std::uint64_t number = 0; ///< counts arrivals
  };

  bool empty() const { return size_ == 0; }
  std::size_t guilds() const { return guilds_.size(); }
  std::size_t size() const { return size_; }

  /// `arrivals` counts them.
  void push(const queue_name& queue, const std::vector<operation_id>& ids, std::uint64_t& arrivals) {
    auto& entries = guilds_[queue.guild][queue.author].entries;
    for (const auto& id : ids) entries.push_back({id, ++arrivals});
    size_ += ids.size();
    unnoted_ += ids.size();
  }

  /// Chooses the next task if none is chosen and not all rest.
  void choose(turn_counts& turns) {
    if (head_) return;
    using guild_key = std::pair<turn_counts::rank, std::uint64_t>;
    std::optional<std::pair<guild_key, std::uint16_t>> next;
    for (const auto& [guild, authors] : guilds_) {
      const auto first = std::find_if(authors.begin(), authors.end(), [](const auto& a) { return !a.second.rests; });
      if (first == authors.end()) continue;
      const std::pair key{guild_key{turns.rank_of_guild(guild), first->second.entries.front().number}, guild};
      if (!next || key < *next) next = key;
    }
    if (!next) return;
    const auto guild = next->second;
    const auto& authors = guilds_.at(guild);
    const auto key = [&](const auto& author) {
      return std::pair(turns.rank_of_author({guild, author.first}), author.second.entries.front().number);
    };
    auto author = authors.end();
    for (auto at = authors.begin(); at != authors.end(); ++at)
      if (!at->second.rests && (author == authors.end() || key(*at) < key(*author))) author = at;
    head_ = turns.give({guild, author->first});
  }
  bool has_head() const { return head_.has_value(); }
  /// All queues of the chosen task's guild rest from now on, as its tasks here need equally many slots; then chooses
  /// anew.
  void rest(turn_counts& turns) {
    turns.take_back(*head_);
    for (auto& [author, queue] : guilds_.at(head_->queue.guild))
      if (!std::exchange(queue.rests, true)) ++resting_;
    are_notes_due_ = true;
    head_.reset();
    choose(turns);
  }
  /// No queue rests any more.
  void wake(turn_counts& turns) {
    if (resting_ == 0) return;
    for (auto& [guild, authors] : guilds_)
      for (auto& [author, queue] : authors) queue.rests = false;
    resting_ = 0;
    are_notes_due_ = true;
    choose(turns);
  }
  std::size_t resting() const { return resting_; }
  // Of the chosen task:
  const entry& front() const { return guilds_.at(head_->queue.guild).at(head_->queue.author).entries.front(); }
  const turn_counts::given& turn() const { return *head_; }
  /// Drops the chosen task and those behind it in its queue, while they are stale and `budget` lasts; then chooses
  /// anew. So a row of stale tasks costs one choice, which looks at every guild.
  template <class Test>
  void drop_stale(turn_counts& turns, std::size_t& budget, Test is_stale) {
    turns.take_back(*head_);
    for (bool is_left = true; is_left && budget > 0 && is_stale(front().id); --budget) is_left = drop_front();
    head_.reset();
    choose(turns);
  }
  void pop() {
    drop_front();
    head_.reset();
  }

  /// Moves all tasks to the end of `to`; none is chosen any more.
  void empty_into(std::vector<entry>& to, turn_counts& turns) {
    if (head_) turns.take_back(*head_);
    for (const auto& [guild, authors] : guilds_)
      for (const auto& [author, queue] : authors) to.insert(to.end(), queue.entries.begin(), queue.entries.end());
    *this = {};
  }

  /// Removes what `is_stale`, except the chosen task.
  template <class Test>
  void sweep(Test is_stale) {
    const auto chosen = head_ ? std::optional(front().number) : std::nullopt;
    for (auto guild = guilds_.begin(); guild != guilds_.end();) {
      for (auto author = guild->second.begin(); author != guild->second.end();) {
        sweep_queue(author->second, chosen, is_stale);
        if (author->second.entries.empty() && author->second.rests) --resting_;
        author = author->second.entries.empty() ? guild->second.erase(author) : std::next(author);
      }
      guild = guild->second.empty() ? guilds_.erase(guild) : std::next(guild);
    }
  }

  /// From now on nobody has received the reason why they wait.
  void forget_notes() {
    for (auto& [guild, authors] : guilds_)
      for (auto& [author, queue] : authors) queue.noted = 0;
    unnoted_ = size_;
  }
  enum class notes : std::uint8_t { of_all, of_resting };
  /// Calls `tell(id, rests)` for tasks that have not received their reason, at most `budget` of them, which it reduces;
  /// again if their queue rests now and did not then, or the reverse. True: none of these is left.
  template <class Tell>
  bool note(std::size_t& budget, notes whose, Tell tell) {
    if (all_noted()) return true;
    bool is_done = true, is_any_other_due = false;
    for (auto& [guild, authors] : guilds_)
      for (auto& [author, queue] : authors) {
        if (whose == notes::of_resting && !queue.rests) {
          is_any_other_due = is_any_other_due || queue.noted_as_resting;
          continue;
        }
        if (std::exchange(queue.noted_as_resting, queue.rests) != queue.rests) {
          unnoted_ += queue.noted;
          queue.noted = 0;
        }
        for (; queue.noted < queue.entries.size() && budget > 0; ++queue.noted, --budget, --unnoted_)
          tell(queue.entries[queue.noted].id, queue.rests);
        is_done = is_done && queue.noted == queue.entries.size();
      }
    are_notes_due_ = !is_done || is_any_other_due;
    return is_done;
  }
  bool all_noted() const { return unnoted_ == 0 && !are_notes_due_; }

 private:
  struct queue {
    std::deque<entry> entries;
    std::size_t noted = 0; ///< entries from the front that have received the reason
    bool rests = false;
    bool noted_as_resting = false; ///< the reason that they received
  };
  /// Drops the first task of the chosen queue, with the last one also the queue. False: the queue is gone.
  bool drop_front() {
    const auto guild = guilds_.find(head_->queue.guild);
    const auto author = guild->second.find(head_->queue.author);
    auto& queue = author->second;
    queue.entries.pop_front();
    if (queue.noted > 0)
      --queue.noted;
    else
      --unnoted_;
    --size_;
    if (!queue.entries.empty()) return true;
    guild->second.erase(author);
    if (guild->second.empty()) guilds_.erase(guild);
    return false;
  }
  template <class Test>
  void sweep_queue(queue& l, const std::optional<std::uint64_t>& chosen, Test& is_stale) {
    std::size_t noted_left = 0, index = 0;
    const auto before = l.entries.size();
    unnoted_ -= before - l.noted;
    std::erase_if(l.entries, [&](const entry& e) {
      const bool keep = e.number == chosen || !is_stale(e.id);
      if (keep && index < l.noted) ++noted_left;
      ++index;
      return !keep;
    });
    l.noted = noted_left;
    size_ -= before - l.entries.size();
    unnoted_ += l.entries.size() - l.noted;
  }

  std::map<std::uint16_t, std::map<std::uint8_t, queue>> guilds_; ///< queues in which somebody waits
  std::optional<turn_counts::given> head_;
  std::size_t size_ = 0, unnoted_ = 0, resting_ = 0;
  bool are_notes_due_ = false; ///< a queue rests or wakes, and its tasks have not been told
};

} // namespace quell::controller
