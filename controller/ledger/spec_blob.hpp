// A task's spec as one small block of bytes, held from its create until its worker reports its start.
#pragma once

#include <memory>

#include "protocol/task.hpp"

namespace quell::controller::live {

/// The parts of a START that the requirement (worker, labels, slots, containment) does not hold already.
class spec_blob {
 public:
  spec_blob() = default;
  explicit spec_blob(const task_spec& spec);
  /// Decodes the spec; `worker`, `on`, `slots` and `least_containment` keep their defaults.
  task_spec decode() const;
  bool is_set() const { return bytes_ != nullptr; }
  void reset() { bytes_.reset(); }

 private:
  std::unique_ptr<char[]> bytes_;
};

} // namespace quell::controller::live
