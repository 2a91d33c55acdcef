// The byte quota of quelld: shares in memory, written to a file of the state directory from time to time, so that a
// restart does not empty them.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "controller/byte_shares.hpp"
#include "protocol/fault.hpp"

namespace quell::controller {

/// A crash loses what was brought since the last write. A file that cannot be read or written is logged, and refuses
/// nothing.
class kept_byte_quota final : public byte_quota {
 public:
  struct options {
    std::string file;
    byte_limits limits;
    milliseconds write_every{10'000};
    std::string boot_id; ///< of this boot of the machine; "" = not known: then the wall clocks measure what has passed
    std::function<moment()> now;
  };
  explicit kept_byte_quota(options o);
  ~kept_byte_quota() override;
  kept_byte_quota(const kept_byte_quota&) = delete;
  kept_byte_quota& operator=(const kept_byte_quota&) = delete;

  /// Writes for the last time. Bytes are counted afterwards, too, but not kept.
  void close();

  std::optional<bytes_refused> take(const byte_source& from, std::uint64_t bytes) override;
  std::optional<bytes_refused> look(const byte_source& from, std::uint64_t bytes) const override;
  void add(const byte_source& from, std::uint64_t bytes) override;
  void give_back(const byte_source& from, std::uint64_t bytes) override;

 private:
  void read();
  void write();
  void run();

  const options options_;
  mutable std::mutex guard_; ///< for all below
  std::condition_variable wake_;
  byte_shares shares_;
  bool has_changed_ = false, is_over_ = false;
  bool is_broken_ = false; ///< belongs to whoever writes
  std::thread thread_;
};

/// The id of this boot, as the kernel tells it; "" = unknown.
std::string boot_id_of_machine();

} // namespace quell::controller
