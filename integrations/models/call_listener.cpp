// State shared by the holder of a call and the client's thread.
#include "integrations/models/call_listener.hpp"

#include <utility>

#include "integrations/models/running_call.hpp"

namespace quell::integrations {

void call_listener::tell(model_event event) {
  listener dropped; // destroyed after the lock is released: its captures can lead back here
  const std::lock_guard lock(telling_);
  if (cut_) return;
  inside_ = true;
  listener_(std::move(event));
  inside_ = false;
  if (cut_) dropped = std::exchange(listener_, nullptr);
}

void call_listener::cut() {
  listener dropped;
  const std::lock_guard lock(telling_);
  cut_ = true;
  if (!inside_) dropped = std::exchange(listener_, nullptr);
}

void call_listener::note_usage(const model_usage& usage) {
  const std::lock_guard lock(counting_);
  usage_ = usage;
}

model_usage call_listener::usage() const {
  const std::lock_guard lock(counting_);
  return usage_;
}

post::post(std::shared_ptr<call_listener> of, std::unique_ptr<running_call> call)
    : listening(std::move(of)), begin(std::move(call)) {}
post::post(std::shared_ptr<call_listener> of, std::function<void()> when_closed)
    : listening(std::move(of)), closed(std::move(when_closed)) {}
post::post(post&&) noexcept = default;
post::~post() = default;

bool mailbox::put(post& what) {
  const std::lock_guard lock(guard_);
  if (closed_) return false;
  posts_.push_back(std::move(what));
  // One wake-up covers all posts that arrive before the client looks.
  if (!waiting_.exchange(true)) wake_();
  return true;
}

std::vector<post> mailbox::take() {
  const std::lock_guard lock(guard_);
  waiting_ = false;
  return std::exchange(posts_, {});
}

void mailbox::ask_to_end() {
  const std::lock_guard lock(guard_);
  end_requested_ = true;
  if (!closed_) wake_();
}

std::vector<post> mailbox::close() {
  const std::lock_guard lock(guard_);
  closed_ = true;
  waiting_ = false;
  return std::exchange(posts_, {});
}

} // namespace quell::integrations
