// Lease arithmetic of both ends. For any pair of clocks that drift apart by at most 1 %, the worker's end must come
// before the controller's.
#include "protocol/lease.hpp"

namespace quell {

namespace {
constexpr std::size_t max_pending_beats = 1000;
} // namespace

// ---- the worker's end -----------------------------------------------------------------------------------------------

void worker_lease::sent(std::uint64_t beat, boot_time at) {
  sent_.push_back({beat, at});
  if (sent_.size() > max_pending_beats) sent_.pop_front();
}

std::optional<boot_time> worker_lease::granted(std::uint64_t beat, std::chrono::milliseconds length) {
  const auto found = std::find_if(sent_.begin(), sent_.end(), [beat](const pending_beat& p) { return p.beat == beat; });
  if (found == sent_.end()) return std::nullopt;
  base_ = found->at;
  length_ = length;
  // A late answer to an older beat must not move the base back.
  sent_.erase(sent_.begin(), found + 1);
  return base_;
}

void worker_lease::welcomed(boot_time hello_sent_at, std::chrono::milliseconds length) {
  sent_.clear(); // beats of the previous session are void
  base_ = hello_sent_at;
  length_ = length;
}

void worker_lease::handover_received(boot_time at, std::chrono::milliseconds length) {
  // The handover can have been on its way for a long time, and the controller counts from its sending. The last
  // answered beat was sent before that (no beat is answered after a handover), so its instant is the latest safe one.
  base_ = base_ ? std::min(*base_, at) : at;
  length_ = length;
}

std::optional<boot_time> worker_lease::end(std::optional<std::chrono::milliseconds> task_lease) const {
  if (!base_) return std::nullopt;
  return *base_ + std::max(length_, task_lease.value_or(length_));
}

bool worker_lease::over(boot_time now, std::optional<std::chrono::milliseconds> task_lease) const {
  const auto last = end(task_lease);
  if (!last) return true;
  return now >= *last - kill_margin(std::max(length_, task_lease.value_or(length_)));
}

// ---- the controller's end -------------------------------------------------------------------------------------------

void controller_lease::grants::add(boot_time at, std::chrono::milliseconds length) {
  latest = latest ? std::max(*latest, at) : at;
  const boot_time end = at + lease_wait(length);
  furthest = furthest ? std::max(*furthest, end) : end;
}

std::optional<boot_time> controller_lease::grants::dead_by(std::optional<std::chrono::milliseconds> task_lease) const {
  if (!latest) return std::nullopt;
  if (!task_lease) return furthest;
  return std::max(*furthest, *latest + lease_wait(*task_lease));
}

controller_lease controller_lease::recovered(boot_time started_at, std::chrono::milliseconds length) {
  controller_lease lease;
  lease.answered(started_at, length);
  return lease;
}

void controller_lease::answered(boot_time at, std::chrono::milliseconds length) { current_.add(at, length); }

void controller_lease::session_begins() {
  if (current_.latest) {
    earlier_.latest = std::max(earlier_.latest, current_.latest);
    earlier_.furthest = std::max(earlier_.furthest, current_.furthest);
  }
  current_ = {};
}

void controller_lease::session_taken() {
  if (current_.latest) earlier_ = {};
}

std::optional<boot_time> controller_lease::dead_by(std::optional<std::chrono::milliseconds> task_lease) const {
  return std::max(earlier_.dead_by(task_lease), current_.dead_by(task_lease)); // nullopt compares as the smallest
}

} // namespace quell
