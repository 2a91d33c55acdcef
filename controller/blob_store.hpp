// Uploaded images and documents, as the front ends and the turns see their files. Messages name them by id; their bytes
// are in no row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/fault.hpp"
#include "protocol/id.hpp"
#include "protocol/scope.hpp"
#include "protocol/time.hpp"

namespace quell::controller {

using blob_id = basic_id<struct blob_tag>;

struct blob_facts {
  blob_id id;
  scope_path scope;   ///< only this scope and those below it may use it
  std::string holder; ///< whose quota it counts for; "" = nobody's
  std::string type, name;
  std::string sha256; ///< hex
  std::uint64_t bytes = 0;
  wall_time at{};
  wall_time kept_until{}; ///< unless it is used again; the highest value: for ever
};

struct new_blob {
  scope_path scope;
  std::string holder;
  std::string type, name;
  std::string bytes;
  /// Reserved before the bytes were there: a message names it already. Then the bytes are stored as they are, also if
  /// the scope has the same file.
  std::optional<blob_id> id{};
  milliseconds keep{0}; ///< if that is less than other files are kept; 0 = as they
};

struct put_blob {
  blob_facts facts;
  bool is_new = true; ///< false: the same file was there already
};

/// Thread-safe.
class blob_store {
 public:
  virtual ~blob_store() = default;
  /// Answers once the bytes are durable, on another thread. The same bytes with the same name and type in the same
  /// scope are stored once. Faults: `unsupported_media_type`, `invalid_field`, `too_large`, `rate_limited` (a quota),
  /// `storage_unavailable`.
  virtual void put(new_blob what, std::function<void(result<put_blob>)> done) = 0;
  /// Of one file.
  virtual std::uint64_t most_bytes() const = 0;
  /// Never blocks.
  virtual std::optional<blob_facts> find(const blob_id& id) const = 0;
  /// Reads from the disk. Fault: `blob_not_found`.
  virtual result<std::string> read(const blob_id& id) = 0;
  /// A message names them now: their time begins anew.
  virtual void use(const std::vector<blob_id>& ids) = 0;
};

} // namespace quell::controller
