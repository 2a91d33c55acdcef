// Reserve space for a full disk: a file that is deleted when the disk is full, so that cancels and ends can still be
// written.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace quell::storage {

class ballast {
 public:
  /// On a small file system the reserve is at most a quarter of it, and the ballast at most half of the reserve.
  ballast(std::string directory, std::uint64_t reserve_bytes, std::uint64_t ballast_bytes);

  /// Checks the free space, and makes the ballast (again) if that leaves the reserve untouched. Writer thread.
  void tend();
  /// Deletes the ballast. True if it existed. Writer thread.
  bool drop();
  /// True while the free space is below the reserve. Checks again if the last check is older than half a second. Thread
  /// safe.
  bool is_low() const;
  /// True if the reserve stays free when so many bytes more are taken.
  bool leaves_room_for(std::uint64_t bytes) const;
  /// True if the ballast is missing although it is configured. Thread safe.
  bool is_missing() const { return !held_ && wanted_ > 0; }

 private:
  /// Free bytes for this user; the maximum value if the file system does not say.
  std::uint64_t look() const;

  std::string directory_, path_;
  std::uint64_t reserve_, wanted_;
  std::atomic<bool> held_{false};
  mutable std::atomic<bool> low_{false};
  mutable std::atomic<std::int64_t> looked_at_{0}; // CLOCK_MONOTONIC, ns
};

} // namespace quell::storage
