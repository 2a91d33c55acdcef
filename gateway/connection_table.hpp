// The table of connections; at the limit it decides which one makes room for a new one, so that a client that only
// waits, shakes hands or watches never keeps another out. Pure; the caller passes the time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace quell::controller::http {

/// Members grouped by owner, which finds the owner with the most members and its oldest one at once.
class owned_groups {
 public:
  using instant = std::chrono::steady_clock::time_point;
  void add(const std::string& owner, instant since, std::uint64_t id);
  void remove(const std::string& owner, instant since, std::uint64_t id);
  struct largest_group {
    std::string owner;
    std::size_t size = 0;
    std::uint64_t oldest = 0;
    instant since{};
  };
  std::optional<largest_group> largest() const;
  std::size_t size_of(const std::string& owner) const;
  std::size_t size() const { return size_; }

 private:
  std::unordered_map<std::string, std::set<std::pair<instant, std::uint64_t>>> groups_;
  std::set<std::pair<std::size_t, std::string>> by_size_;
  std::size_t size_ = 0;
};

class connection_table {
 public:
  using instant = owned_groups::instant;
  using id = std::uint64_t;
  enum class phase : std::uint8_t {
    idle,    ///< waits for a handshake, a request, or the rest of one
    writing, ///< waits for a client that reads its answer
    at_work, ///< a request is being answered
    watching ///< an event stream or a long poll
  };
  /// Beyond `most` connections only cancels are answered, on at most `most_reserved` additional ones.
  connection_table(std::size_t most, std::size_t most_reserved) : most_(most), most_reserved_(most_reserved) {}

  enum class place : std::uint8_t { ordinary, reserved };
  /// `close` ends the connection; called at most once.
  id enter(std::string peer, place where, std::function<void()> close, instant now);
  void leave(id which);
  void move(id which, phase to, instant now);
  /// Sets the token of the connection; watching connections are shared among tokens.
  void belongs_to(id which, const std::string& token);

  std::size_t size() const { return entries_.size(); }
  bool is_full() const { return entries_.size() - reserved_.size() >= most_; }
  bool is_reserve_full() const { return reserved_.size() >= most_reserved_; }
  /// Closes the connection with the weakest claim: the longest idle one of the peer with the most idle connections, or,
  /// if one token watches with more than its share, its oldest stream. False if all are at work, or have been idle for
  /// less than `at_least`.
  bool make_room(instant now, instant::duration at_least = {});
  /// The same in the reserve, by who holds most of it: the longest idle one of that peer, or, if one token watches
  /// there with more than any peer holds or nobody is idle, its oldest stream; a cancel that it watches goes on. False:
  /// all are at work.
  bool make_room_in_reserve();
  /// Closes all connections that wait for a request.
  void close_idle();
  /// For the log: the owners with the most connections.
  std::string summary() const;
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct entry {
    std::string peer, token;
    place where = place::ordinary;
    phase now = phase::idle;
    instant since{};
    std::function<void()> close;
  };
  void enlist(id which, const entry& e);
  void unlist(id which, const entry& e);
  void drop(id which);
  struct reserve_group {
    std::size_t held = 0;                              ///< those at work included
    std::optional<std::pair<instant, id>> oldest = {}; ///< of those that can make room
  };
  using reserve_groups = std::map<std::string, reserve_group>;
  /// The group with the most places of those that have one to give; of equal ones the one that waits longest.
  static const reserve_group* largest(const reserve_groups& all);

  std::size_t most_, most_reserved_;
  std::map<id, entry> entries_;
  owned_groups idle_, watching_;
  std::set<id> reserved_;
  id next_ = 1;
  std::uint64_t dropped_ = 0;
};

} // namespace quell::controller::http
