// Progress, retries, and giving up.
#include "gateway/webhooks/delivery.hpp"

#include <algorithm>
#include <utility>

namespace quell::controller::webhooks {
namespace {

constexpr milliseconds first_wait{1000}, longest_wait{300'000}, longest_requested{3'600'000};
constexpr std::chrono::hours most_age{24};
constexpr unsigned most_refusals = 5;
constexpr long gone = 410;

bool is_about_the_event(long status) { return status == 400 || status == 413 || status == 415 || status == 422; }

milliseconds wait_after(unsigned failures, double chance) {
  const auto whole = std::min(longest_wait, first_wait * (1 << std::min(failures - 1, 16U)));
  return milliseconds(static_cast<std::int64_t>(static_cast<double>(whole.count()) * (0.5 + chance / 2)));
}

} // namespace

bool delivery::wants_to_read(boot_time now) const {
  return is_stale_ && !is_reading_ && !is_gone_ && waiting_.empty() && now >= not_before_;
}

sentence delivery::read(page p) {
  is_reading_ = false;
  looked_to_ = std::max(p.looked_to, position_);
  if (!p.is_whole) is_stale_ = true;
  for (auto& one : p.items) waiting_.push_back(std::move(one));
  if (waiting_.empty()) position_ = looked_to_;
  if (p.lost == 0) return {};
  return "up to " + std::to_string(p.lost) +
         " events were dropped from the store before they were delivered "
         "(store.keep_events)";
}

void delivery::not_read(boot_time now) {
  is_reading_ = false;
  is_stale_ = true;
  not_before_ = now + first_wait;
}

const item* delivery::to_send(boot_time now) const {
  return waiting_.empty() || is_sending_ || is_gone_ || now < not_before_ ? nullptr : &waiting_.front();
}

void delivery::leave(std::uint64_t id) {
  waiting_.pop_front();
  refusals_ = 0;
  position_ = waiting_.empty() ? std::max(id, looked_to_) : id;
}

sentence delivery::give_up(const std::string& why) {
  const auto id = waiting_.front().id;
  ++given_up_;
  leave(id);
  return "event " + std::to_string(id) + " is given up: " + why;
}

sentence delivery::answered(long status, const std::string& why, milliseconds retry_after, moment now, double chance) {
  is_sending_ = false;
  if (waiting_.empty()) return {};
  if (status >= 200 && status <= 299) {
    ++delivered_;
    leave(waiting_.front().id);
    not_before_ = now.boot;
    trouble_.clear();
    return std::exchange(failures_, 0) == 0 ? "" : "takes events again";
  }
  trouble_ = status == 0 ? why : "answered " + std::to_string(status);
  if (status == gone) {
    is_gone_ = true;
    return "is gone (410): nothing more is sent until quelld starts again";
  }
  ++failures_;
  not_before_ = now.boot + std::max(wait_after(failures_, chance), std::min(retry_after, longest_requested));
  if (is_about_the_event(status) && ++refusals_ >= most_refusals) return give_up("the receiver " + trouble_);
  if (now.wall - waiting_.front().at > most_age) {
    // Counts all events that are as old: the receiver was not available for them.
    std::uint64_t count = 0;
    const auto first = waiting_.front().id;
    auto last = first;
    while (!waiting_.empty() && now.wall - waiting_.front().at > most_age) {
      last = waiting_.front().id;
      ++count, ++given_up_;
      leave(last);
    }
    return std::to_string(count) + " events (" + std::to_string(first) + " to " + std::to_string(last) +
           ") are given up after a day: the receiver " + trouble_;
  }
  return failures_ == 1 ? "takes nothing: " + trouble_ : "";
}

std::optional<boot_time> delivery::next_at() const {
  if (is_gone_ || is_sending_ || is_reading_) return std::nullopt;
  if (waiting_.empty() && !is_stale_) return std::nullopt;
  return not_before_;
}

std::string delivery::state(moment now) const {
  if (is_gone_) return "disabled: the receiver answered 410 Gone; restart quelld to try again";
  auto text = std::to_string(delivered_) + " delivered";
  if (given_up_ > 0) text += ", " + std::to_string(given_up_) + " given up";
  if (waiting_.empty()) return text + (is_stale_ ? ", looking for more" : ", nothing waits");
  const auto lag = std::chrono::duration_cast<std::chrono::seconds>(now.wall - waiting_.front().at).count();
  text += ", " + std::to_string(waiting_.size()) + (looked_to_ != 0 && is_stale_ ? " or more wait" : " wait") +
          ", the oldest for " + std::to_string(std::max<std::int64_t>(0, lag)) + " s";
  if (!trouble_.empty()) text += ": " + trouble_;
  return text;
}

} // namespace quell::controller::webhooks
