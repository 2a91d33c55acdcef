// Blobs in files: `blobs/ID` is one line of JSON and then the bytes, written whole or not at all. The time of the last
// use is the file's. All that is known about them is in memory, too; a restart reads it from the files.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "controller/blob_store.hpp"

namespace quell::controller {

class blob_files final : public blob_store {
 public:
  struct options {
    std::string directory; ///< created if missing
    std::uint64_t most_bytes = 10 << 20;
    // Of all blobs of a token, of a scope, and of all; a small file counts as a whole block of the disk. 0 = no limit.
    // Those that nobody's token holds (of chats, of tools, of the bootstrap token) share the room of all by guild: one
    // gets another file only while it has less than is free.
    std::uint64_t bytes_per_holder = 0, bytes_per_scope = 0, bytes_in_all = 1 << 30;
    milliseconds keep{0};            ///< since the last use; 0 = for ever
    std::uint64_t reserve_bytes = 0; ///< of the disk, which stay free
    std::function<wall_time()> now;
  };
  /// Reads what is there. Fault: `storage_unavailable`.
  static result<std::unique_ptr<blob_files>> open(options o);
  ~blob_files() override;
  blob_files(const blob_files&) = delete;
  blob_files& operator=(const blob_files&) = delete;

  /// Writes what waits, and nothing more. No answer comes afterwards.
  void close();

  void put(new_blob what, std::function<void(result<put_blob>)> done) override;
  std::uint64_t most_bytes() const override { return options_.most_bytes; }
  std::optional<blob_facts> find(const blob_id& id) const override;
  result<std::string> read(const blob_id& id) override;
  void use(const std::vector<blob_id>& ids) override;
  /// Removes what was not used for `keep`; its thread does so from time to time.
  std::size_t sweep();

 private:
  struct kept {
    blob_facts facts;
    std::uint64_t header_bytes = 0;
    wall_time used_at{};
    milliseconds keep{0}; ///< of this file, at most; 0 = as long as others
  };
  using same_file = std::tuple<std::string, std::string, std::string, std::string>; ///< scope, type, name, sha256

  explicit blob_files(options o) : options_(std::move(o)) {}
  void load(const std::string& path, const blob_id& id);
  void add(kept one);
  void remove(const blob_id& id);
  std::string path_of(const blob_id& id) const { return options_.directory + "/" + id.text(); }
  blob_facts shown(const kept& one) const;
  /// 0 = for ever.
  milliseconds keep_of(const kept& one) const;
  std::optional<fault> why_no_room(const new_blob& what) const;
  result<put_blob> write(new_blob what);
  void later(std::function<void()> job);
  void run();

  const options options_;
  mutable std::mutex guard_; ///< for all below
  std::condition_variable wake_;
  std::unordered_map<blob_id, kept> all_;
  std::map<same_file, blob_id> same_;
  std::unordered_map<std::string, std::uint64_t> of_holder_, of_scope_, of_guild_; ///< bytes; of_guild_: without holder
  std::uint64_t total_ = 0;
  std::deque<std::function<void()>> jobs_;
  std::uint64_t waiting_bytes_ = 0; ///< of blobs that wait to be written
  bool is_over_ = false;
  std::thread thread_;
};

} // namespace quell::controller
