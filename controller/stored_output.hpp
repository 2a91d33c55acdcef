// Output that stays in its file on its way to somebody who needs no copy of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "controller/output_reader.hpp"

namespace quell::controller {

/// Bytes in an open file, which stay readable when the file is removed.
struct file_range {
  std::shared_ptr<const int> descriptor; ///< closed with its last owner
  std::uint64_t from = 0;                ///< in the file
  std::uint64_t length = 0;
};

/// A slice whose bytes are in `about`, or in a file.
struct located_output {
  output_reader::slice about;
  std::optional<file_range> stored; ///< if set, `about.bytes` is empty
  std::uint64_t length() const { return stored ? stored->length : about.bytes.size(); }
};

/// A second interface of output stores that keep bytes in files. Thread-safe.
class stored_output {
 public:
  virtual ~stored_output() = default;
  /// As `output_reader::read`, but many bytes stay in their file.
  virtual result<located_output> locate(const operation_id& id, stream which, std::uint64_t offset,
                                        std::size_t limit_bytes) = 0;
};

} // namespace quell::controller
