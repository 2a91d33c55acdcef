// The two halves of the ordered channel: counting, keeping, acknowledging and resending frames.
#include "protocol/channel.hpp"

#include <algorithm>

namespace quell {

std::uint64_t channel_sender::push(wire::message body, boot_time now) {
  if (unacknowledged_.empty()) last_transmission_ = now;
  unacknowledged_.push_back(std::move(body));
  return ++last_sent_;
}

bool channel_sender::overflown() const { return unacknowledged_.size() > settings_.limit; }

bool channel_sender::acknowledged(std::uint64_t number, boot_time now) {
  if (number > last_sent_) return false;
  if (number <= last_acknowledged_) return true;
  const auto count = static_cast<std::ptrdiff_t>(number - last_acknowledged_);
  unacknowledged_.erase(unacknowledged_.begin(), unacknowledged_.begin() + count);
  last_acknowledged_ = number;
  // The peer makes progress: the frame that is now the oldest gets its full wait; otherwise a long queue would be
  // resent for nothing.
  last_transmission_ = now;
  answered_gap_at_.reset();
  return true;
}

std::vector<std::pair<std::uint64_t, wire::message>> channel_sender::resend(boot_time now, resend_cause why) {
  if (unacknowledged_.empty()) return {};
  const bool gap = why == resend_cause::gap_reported;
  // After one lost frame every later frame reports the gap; resending the whole queue for each report would be
  // quadratic.
  const bool gap_is_news = !answered_gap_at_ || now - *answered_gap_at_ >= settings_.resend_after / 10;
  const bool waited = now - last_transmission_ >= settings_.resend_after;
  if (!waited && !(gap && gap_is_news)) return {};
  if (gap) answered_gap_at_ = now;
  last_transmission_ = now;
  std::vector<std::pair<std::uint64_t, wire::message>> again;
  again.reserve(unacknowledged_.size());
  std::uint64_t number = last_acknowledged_;
  for (const auto& body : unacknowledged_) again.emplace_back(++number, body);
  return again;
}

std::optional<boot_time> channel_sender::next_resend() const {
  if (unacknowledged_.empty()) return std::nullopt;
  return last_transmission_ + settings_.resend_after;
}

channel_receiver::verdict channel_receiver::accept(std::uint64_t number) {
  if (number <= accepted_) return verdict::duplicate;
  if (number != accepted_ + 1) return verdict::gap;
  accepted_ = number;
  return verdict::deliver;
}

void channel_receiver::applied(std::uint64_t number) { applied_ = std::max(applied_, std::min(number, accepted_)); }

} // namespace quell
