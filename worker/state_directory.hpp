// The worker's state directory: one process at a time, its identity, its key, and the cluster to which it belongs.
//
//   lock      held by flock as long as the worker lives; its content is the pid
//   id        made once: names the cgroup subtree, so that a later life clears what an earlier one left
//   lives     how many lives began here: orders them, whatever the wall clock does
//   cluster   cluster id, highest controller epoch, highest seq seen
//   doubt     exists while an earlier life may have left processes unknown to the controller (leftovers.hpp)
//   life      held locked by guardian and keepers while they live (guardian/life_lock.hpp)
//   key       secret CURVE key of `quell-worker keygen` (0600)
//   keys      successors of that key or the join line's, and of the controller's (0600, key_ring.hpp)
//   change    exists while a new key is requested (`quell-worker rotate-key`)
#pragma once

#include <memory>
#include <string>

#include "protocol/fault.hpp"
#include "protocol/socket.hpp"
#include "worker/controller_session.hpp"
#include "worker/guardian/client.hpp"

namespace quell::worker {

class state_directory {
 public:
  /// Makes (0700) and locks `path`. Fault `state_locked` names the pid that holds it; `state_unusable` says what to do.
  static result<state_directory> open(std::string path);

  const std::string& path() const { return path_; }
  const std::string& id() const { return id_; }
  const membership& member() const { return member_; }
  /// Counts one more life, synced to disk, and returns its number, 1, 2, 3 …; 0 if it cannot be written.
  std::uint64_t begin_life();
  /// Writes a new file and renames it; synced only if cluster or epoch change (seq alone is a hint for a restored
  /// controller).
  result<void> store(const membership& m);

  /// The key that `keygen` wrote, or fault `no_key`.
  result<key_pair> key() const;
  result<void> store_key(const key_pair& keys);
  bool has_key() const;

  /// The file `keys`; "" = none.
  std::string keys() const;
  /// Stores the text whole or not at all, and synced to disk.
  result<void> store_keys(const std::string& text);
  /// True if a new key was requested, and `change_begun` has not been called since.
  bool change_wanted() const;
  void change_begun();

 private:
  state_directory() = default;
  enum class durability : std::uint8_t { renamed, synced };
  result<void> write(const std::string& name, const std::string& text, durability how) const;
  std::string path_;
  std::string id_;
  membership member_;
  unique_fd lock_;
};

} // namespace quell::worker
