// Reads folders of symbolic links, and reads them again only if they have changed.
#include "worker/announced_states.hpp"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "protocol/state_marks.hpp"

namespace quell::worker {

namespace fs = std::filesystem;

namespace {

long long changed_at(const struct stat& is) { return is.st_mtim.tv_sec * 1'000'000'000LL + is.st_mtim.tv_nsec; }

/// A folder that has just changed can change again without a new time stamp: file systems count in ticks.
bool is_settled(long long changed) {
  const auto age = std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(changed);
  return age > std::chrono::milliseconds(100);
}

} // namespace

std::vector<std::string> announced_states::changed() {
  std::vector<std::string> found;
  look_into(state_marks_of_root, found);
  look_for_users();
  for (const auto& folder : folders_of_users_) look_into(folder, found);
  return found;
}

void announced_states::look_for_users() {
  struct stat now {};
  if (::stat(runtime_directories, &now) < 0) {
    users_seen_ = 0;
    return folders_of_users_.clear();
  }
  const auto changed = changed_at(now);
  if (users_seen_ == changed) return;
  folders_of_users_.clear();
  std::error_code error;
  for (const auto& user : fs::directory_iterator(runtime_directories, error))
    folders_of_users_.push_back(user.path().string() + state_marks_below);
  users_seen_ = !error && is_settled(changed) ? changed : 0;
}

void announced_states::look_into(const std::string& folder, std::vector<std::string>& found) {
  struct stat now {};
  if (::stat(folder.c_str(), &now) < 0) return;
  auto& seen = seen_folders_[folder];
  const auto changed = changed_at(now);
  if (seen == changed) return;
  bool all_there = true;
  std::size_t looked_at = 0;
  std::error_code error;
  for (const auto& mark : fs::directory_iterator(folder, error)) {
    if (++looked_at > most_state_marks) break;
    std::error_code trouble;
    struct stat link {
    }, target{}, lock{};
    const auto path = fs::canonical(mark.path(), trouble).string();
    if (trouble || ::lstat(mark.path().c_str(), &link) < 0 || ::lstat(path.c_str(), &target) < 0 ||
        link.st_uid != target.st_uid)
      continue;
    if (::lstat((path + "/" + state_lock_file).c_str(), &lock) < 0) {
      all_there = false; // being created at this moment
      continue;
    }
    found.push_back(path);
  }
  seen = !error && is_settled(changed) && all_there ? changed : 0;
}

} // namespace quell::worker
