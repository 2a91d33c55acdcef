// A task's spec as one small block of bytes, held from its create until its worker says that it started.
#pragma once

#include <memory>

#include "protocol/task.hpp"

namespace quell::controller::heart {

/// What a START needs and the requirement (worker, labels, slots, containment) does not hold already.
class spec_blob {
 public:
  spec_blob() = default;
  explicit spec_blob(const task_spec& spec);
  /// The spec again; `worker`, `on`, `slots` and `least_containment` are left at their defaults.
  task_spec decode() const;
  bool is_set() const { return bytes_ != nullptr; }
  void reset() { bytes_.reset(); }

 private:
  std::unique_ptr<char[]> bytes_;
};

} // namespace quell::controller::heart
