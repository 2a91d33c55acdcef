// Room for the files that the open calls of one remote agent hold until they end. One thread.
//
// A call gets room for another file only while it would hold no more than stays free, so one call with many files
// leaves room for those of others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "integrations/a2a/limits.hpp"

namespace quell::integrations::a2a {

class media_room {
 public:
  explicit media_room(std::size_t bytes = a2a_limits::agent_media_bytes) : free_(bytes) {}

  /// The part of one call. Its destruction gives everything back.
  class share {
   public:
    enum class answer : std::uint8_t {
      taken,
      call_full, ///< the call has as much as one call may have
      agent_full ///< the agent's calls together do not leave enough
    };

    explicit share(std::shared_ptr<media_room> of) : of_(std::move(of)) {}
    share(share&& other) noexcept : of_(std::move(other.of_)), bytes_(std::exchange(other.bytes_, 0)) {}
    share& operator=(share&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    share(const share&) = delete;
    share& operator=(const share&) = delete;
    ~share() { give_back(bytes_); }

    answer take(std::size_t bytes) {
      if (bytes_ + bytes > a2a_limits::media_bytes) return answer::call_full;
      if (bytes > of_->free_ || bytes_ + bytes > of_->free_ - bytes) return answer::agent_full;
      of_->free_ -= bytes;
      bytes_ += bytes;
      return answer::taken;
    }
    /// At most what it has.
    void give_back(std::size_t bytes) {
      bytes = std::min(bytes, bytes_);
      if (bytes == 0) return;
      bytes_ -= bytes;
      of_->free_ += bytes;
    }
    void give_all_back() { give_back(bytes_); }

   private:
    std::shared_ptr<media_room> of_;
    std::size_t bytes_ = 0;
  };

  std::size_t free() const { return free_; }

 private:
  std::size_t free_;
};

} // namespace quell::integrations::a2a
