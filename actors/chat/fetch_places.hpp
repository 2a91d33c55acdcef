// The places in which messages of chats have their files fetched, shared fairly by guild and channel. Any thread.
//
// A guild (the first two segments of a scope; a workspace, a network) gets another place only while it has fewer than
// are free, and a channel (three segments) has at most a quarter of all. So one guild with a slow service gets half of
// the places, the next one half of the rest, and there is a place for one that comes later. Of those that wait, the
// guild with the fewest places is next, in it the channel with the fewest, and then who came first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "protocol/scope.hpp"

namespace quell::controller::chat {

class fetch_places {
 public:
  explicit fetch_places(std::size_t most = 16);
  /// Calls `go` when there is a place, at once or on the thread of another caller.
  void enter(const scope_path& scope, std::function<void()> go);
  /// Gives a place of this scope back.
  void leave(const scope_path& scope);

 private:
  struct waiter {
    std::uint64_t number = 0; ///< counts comings
    std::function<void()> go;
  };
  struct channel_places {
    std::size_t taken = 0;
    std::deque<waiter> waiting;
  };
  struct guild_places {
    std::size_t taken = 0;
    std::map<scope_path, channel_places> channels;
  };
  void admit(std::unique_lock<std::mutex>& lock);
  /// Takes a place for the next one that may have one; empty if there is none.
  std::function<void()> take_next();

  const std::size_t most_of_channel_;
  std::mutex guard_;
  std::size_t free_;
  std::uint64_t comings_ = 0;
  bool is_admitting_ = false;
  std::map<scope_path, guild_places> guilds_; ///< with a place, or waiting
};

} // namespace quell::controller::chat
