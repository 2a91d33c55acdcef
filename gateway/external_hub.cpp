// Distributes stops to owners.
#include "gateway/external_hub.hpp"

#include <algorithm>
#include <unordered_map>

namespace quell::controller::http {

namespace {
constexpr std::size_t max_queued = 10'000;
}

void external_hub::publish(const external_signal& s) {
  if (interested_.load() == 0) return;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    wake = inbox_.empty();
    inbox_.push_back(s);
  }
  if (wake) post_to(io_, [this] { drain(); });
}

std::shared_ptr<signal_watcher> external_hub::enter() {
  ++interested_;
  auto* fresh = new signal_watcher(io_);
  const auto at = watchers_.insert(watchers_.end(), fresh);
  return {fresh, [this, at](signal_watcher* gone) {
            watchers_.erase(at);
            --interested_;
            delete gone;
          }};
}

std::shared_ptr<signal_watcher> external_hub::watch(const operation_id& operation) {
  auto watcher = enter();
  watcher->operation = operation;
  return watcher;
}

std::shared_ptr<signal_watcher> external_hub::watch(const std::string& session) {
  auto watcher = enter();
  watcher->session = session;
  return watcher;
}

void external_hub::drain() {
  std::vector<external_signal> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(inbox_);
  }
  // When a large scope is cancelled, many signals meet many watchers, so each watcher is looked up by its key.
  std::unordered_map<operation_id, std::vector<signal_watcher*>> by_operation;
  std::unordered_map<std::string, std::vector<signal_watcher*>> by_session;
  for (auto* w : watchers_) {
    if (w->operation)
      by_operation[*w->operation].push_back(w);
    else
      by_session[w->session].push_back(w);
  }
  const auto hand_to = [](const std::vector<signal_watcher*>& all, const external_signal& s) {
    for (auto* w : all) {
      if (w->queue.size() >= max_queued) {
        w->lagging = true;
        w->queue.clear();
      }
      if (!w->lagging) w->queue.push_back(s);
      w->arrived->notify();
    }
  };
  for (const auto& s : fresh) {
    if (const auto at = by_operation.find(s.operation); at != by_operation.end()) hand_to(at->second, s);
    if (s.session.empty()) continue;
    if (const auto at = by_session.find(s.session); at != by_session.end()) hand_to(at->second, s);
  }
}

void external_hub::close() {
  for (auto* w : watchers_) w->arrived->notify();
}

} // namespace quell::controller::http
