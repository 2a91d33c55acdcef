// Directories of a v1 hierarchy that hold the worker's default limit and are used by one task after the other: making,
// filling and removing two of them takes longer than everything else that the guardian does for a short task.
//
// They limit tasks and prove nothing: whether a task is gone is always read from the task's own containment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quell::worker {

class spare_directories {
 public:
  /// `kind` begins the names, and must be another one in each hierarchy. `limit_file` holds the limit. `usage_file` (or
  /// "") says how much of it is in use when no process is there.
  spare_directories(const char* kind, const char* limit_file, const char* usage_file)
      : kind_(kind), limit_file_(limit_file), usage_file_(usage_file) {}

  /// The name of a directory below `hierarchy` that limits to `value`, made if none is free. On failure "", with the
  /// errno in `error`.
  std::string take(int hierarchy, const std::string& value, int& error);
  /// After the task's end. False: it is not fit for another task (a process is there, or memory is still charged to
  /// it), and the caller removes it.
  bool give_back(int hierarchy, const std::string& name);

 private:
  const char* kind_;
  const char* limit_file_;
  const char* usage_file_;
  std::string value_; ///< of the free ones and of those that may come back
  std::uint64_t made_ = 0, first_of_value_ = 0;
  std::vector<std::string> free_;
};

} // namespace quell::worker
