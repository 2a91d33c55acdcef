// Callers are called outside of the lock: a stop of one fetch begins the next one, which comes back here.
#include "actors/turns/arriving_files.hpp"

#include <algorithm>

#include "actors/turns/context_fit.hpp"

namespace quell::controller::turns {
namespace {

constexpr std::size_t most_missing = 4096; ///< reasons that are remembered

} // namespace

void arriving_files::expect(const std::string& file) {
  const std::lock_guard lock(guard_);
  all_.try_emplace(file);
}

void arriving_files::belong(const attachments& files, const operation_id& turn) {
  const std::lock_guard lock(guard_);
  for (const auto& one : files)
    if (const auto at = all_.find(one.blob); at != all_.end()) at->second.turn = turn;
}

bool arriving_files::begin(const std::string& file, std::function<void()> stop) {
  const std::lock_guard lock(guard_);
  const auto at = all_.find(file);
  if (at == all_.end()) return false;
  at->second.stop = std::move(stop);
  return true;
}

void arriving_files::settle(const std::string& file, const std::string& why) {
  std::vector<std::function<void()>> over;
  {
    const std::lock_guard lock(guard_);
    if (all_.erase(file) == 0) return;
    if (!why.empty() && missing_.emplace(file, why).second) {
      missing_order_.push_back(file);
      if (missing_order_.size() > most_missing) {
        missing_.erase(missing_order_.front());
        missing_order_.pop_front();
      }
    }
    for (auto& w : waiters_)
      if (w.files.erase(file) > 0 && w.files.empty()) over.push_back(std::move(w.then));
    std::erase_if(waiters_, [](const waiter& w) { return w.files.empty(); });
  }
  for (const auto& then : over) then();
}

void arriving_files::give_up(const std::vector<std::string>& files, const std::string& why) {
  std::vector<std::function<void()>> stops;
  for (const auto& file : files) {
    {
      const std::lock_guard lock(guard_);
      const auto at = all_.find(file);
      if (at == all_.end()) continue;
      if (at->second.stop) stops.push_back(std::move(at->second.stop));
    }
    settle(file, why);
  }
  for (const auto& stop : stops) stop(); // all are settled: none goes on with the next one
}

void arriving_files::stop_of(const operation_id& turn) {
  std::vector<std::string> files;
  {
    const std::lock_guard lock(guard_);
    for (const auto& [file, one] : all_)
      if (one.turn == turn) files.push_back(file);
  }
  give_up(files);
}

std::vector<std::string> arriving_files::among(conversation& messages) const {
  std::vector<std::string> found;
  const std::lock_guard lock(guard_);
  if (all_.empty()) return found;
  for (auto& entry : messages)
    for (const auto* files : files_of(entry))
      for (const auto& one : *files)
        if (all_.contains(one.blob)) found.push_back(one.blob);
  return found;
}

void arriving_files::wait(const std::vector<std::string>& files, std::function<void()> then) {
  {
    const std::lock_guard lock(guard_);
    waiter w;
    for (const auto& file : files)
      if (all_.contains(file)) w.files.insert(file);
    if (!w.files.empty()) {
      w.then = std::move(then);
      waiters_.push_back(std::move(w));
      return;
    }
  }
  then();
}

std::optional<std::string> arriving_files::why_missing(const std::string& file) const {
  const std::lock_guard lock(guard_);
  const auto at = missing_.find(file);
  return at == missing_.end() ? std::nullopt : std::optional(at->second);
}

} // namespace quell::controller::turns
