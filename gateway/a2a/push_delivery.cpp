// Progress, retries, and giving up.
#include "gateway/a2a/push_delivery.hpp"

#include <algorithm>

namespace quell::controller::http::a2a {

namespace {

/// A change without an event, such as the end of a scope's cancel, is found so late.
constexpr milliseconds between_looks{15'000};
constexpr milliseconds look_again{1'000};
constexpr milliseconds first_push_wait{1'000}, longest_push_wait{300'000}, longest_push_request{3'600'000};
constexpr std::chrono::hours most_push_age{24};
constexpr unsigned most_push_refusals = 5;

bool is_about_the_body(long status) { return status == 400 || status == 413 || status == 415 || status == 422; }

} // namespace

bool push_delivery::wants_to_look(boot_time now) const {
  if (is_done_ || is_looking_ || is_sending_ || now < not_before_) return false;
  return is_stale_ || now >= look_at_;
}

/// A newer state replaces one that could not be delivered yet; the time for which nothing could be goes on.
void push_delivery::took(const std::optional<push_look>& look, moment now) {
  is_looking_ = false;
  look_at_ = now.boot + between_looks;
  if (!look) {
    is_done_ = true;
    return;
  }
  if (look->state == last_) {
    waiting_.reset();
    is_done_ = look->is_over;
    return;
  }
  if (!waiting_) waits_since_ = now.wall;
  if (!waiting_ || waiting_->state != look->state) refusals_ = 0;
  waiting_ = *look;
}

void push_delivery::not_looked(boot_time now) {
  is_looking_ = false;
  is_stale_ = true;
  not_before_ = std::max(not_before_, now + look_again);
}

const std::string* push_delivery::to_send(boot_time now) const {
  if (!waiting_ || waiting_->body.empty() || is_done_ || is_sending_ || is_looking_ || now < not_before_)
    return nullptr;
  return &waiting_->body;
}

void push_delivery::leave() {
  last_ = waiting_->state;
  is_done_ = waiting_->is_over;
  waiting_.reset();
  failures_ = refusals_ = 0;
}

std::string push_delivery::answered(long status, const std::string& why, milliseconds retry_after, moment now) {
  is_sending_ = false;
  if (!waiting_) return {};
  if (status >= 200 && status <= 299) {
    not_before_ = now.boot;
    leave();
    return {};
  }
  const auto trouble = status == 0 ? why : "answered " + std::to_string(status);
  if (status == 410) {
    is_done_ = true;
    return "is gone (410): no more notifications are sent there";
  }
  const auto wait = std::min(longest_push_wait, first_push_wait * (1 << std::min(failures_, 16U)));
  ++failures_;
  not_before_ = now.boot + std::max(wait, std::min(retry_after, longest_push_request));
  is_stale_ = true;       // by then there can be a newer state
  waiting_->body.clear(); // a receiver that is away for long takes no memory
  if (is_about_the_body(status) && ++refusals_ >= most_push_refusals) {
    leave();
    return "refuses a notification, which is given up: it " + trouble;
  }
  if (now.wall - waits_since_ > most_push_age) {
    is_done_ = true;
    return "takes nothing for a day and is given up: " + trouble;
  }
  return failures_ == 1 ? "takes nothing, and is tried again: " + trouble : "";
}

std::optional<boot_time> push_delivery::next_at() const {
  if (is_done_ || is_looking_ || is_sending_) return std::nullopt;
  if (waiting_ || is_stale_) return not_before_;
  return std::max(look_at_, not_before_);
}

} // namespace quell::controller::http::a2a
