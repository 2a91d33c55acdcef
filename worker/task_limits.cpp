// Takes the smaller of two limits; 0 means no limit.
#include "worker/task_limits.hpp"

#include <algorithm>

namespace quell::worker {
namespace {

template <class Number>
Number tighter(Number requested, Number most) {
  if (requested == 0 || most == 0) return std::max(requested, most);
  return std::min(requested, most);
}

} // namespace

task_limits limits_of(const task_spec& spec, const task_limits& most) {
  task_limits limits;
  limits.memory_bytes = tighter(spec.memory_bytes, most.memory_bytes);
  limits.pids = tighter(spec.pids, most.pids);
  limits.cpu_millis = tighter(spec.cpu_millis, most.cpu_millis);
  limits.memory_required = spec.memory_bytes != 0;
  limits.pids_required = spec.pids != 0;
  limits.cpu_required = spec.cpu_millis != 0;
  return limits;
}

} // namespace quell::worker
