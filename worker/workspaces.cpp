// Makes, measures and removes the directories.
#include "worker/workspaces.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "protocol/failure_code.hpp"
#include "worker/remove_tree.hpp"

namespace quell::worker {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds longest_pause = 10min, shortest_pause = 200ms;
constexpr std::uint64_t bytes_of_entry = 512, endless = 1ULL << 62;
constexpr int most_levels = 200;

std::uint64_t bytes_in(int folder, int levels) { // takes the descriptor
  DIR* entries = ::fdopendir(folder);
  if (!entries) {
    ::close(folder);
    return 0;
  }
  std::uint64_t sum = 0;
  while (const dirent* e = ::readdir(entries)) {
    const std::string_view name = e->d_name;
    struct stat is {};
    if (name == "." || name == "..") continue;
    if (::fstatat(folder, e->d_name, &is, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno == EACCES) sum = endless; // closed to its own owner, so that nobody can measure it
      continue;
    }
    sum += static_cast<std::uint64_t>(is.st_blocks) * 512 + bytes_of_entry;
    if (!S_ISDIR(is.st_mode)) continue;
    if (levels == 0) {
      sum = endless;
    } else if (const int inner = ::openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
               inner >= 0) {
      sum += bytes_in(inner, levels - 1);
    } else if (errno == EACCES) {
      sum = endless;
    }
    if (sum >= endless) break;
  }
  ::closedir(entries);
  return std::min(sum, endless);
}

std::string with_unit(std::uint64_t bytes) {
  if (bytes >= endless) return "folders that cannot be measured";
  if (bytes >= 10 << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

tl::unexpected<fault> disk_fault(const std::string& what, const std::string& path) {
  return failure("io_error", "cannot " + what + " " + path + ": " + std::strerror(errno));
}

result<void> make_folder(const std::string& path, mode_t mode, const std::optional<task_account>& as) {
  if (::mkdir(path.c_str(), mode) < 0 && errno != EEXIST) return disk_fault("make the workspace", path);
  if (::chmod(path.c_str(), mode) < 0) return disk_fault("set the mode of", path); // mkdir obeys the umask
  if (as && ::chown(path.c_str(), as->uid, as->gid) < 0) return disk_fault("give away", path);
  return {};
}

milliseconds kept_for(const std::string& path) {
  std::ifstream file(path + "/keep");
  std::string text;
  std::int64_t ms = 0;
  if (file >> text) std::from_chars(text.data(), text.data() + text.size(), ms);
  return milliseconds{std::max<std::int64_t>(ms, 0)};
}

} // namespace

std::uint64_t bytes_below(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return folder < 0 ? 0 : bytes_in(folder, most_levels);
}

result<std::unique_ptr<workspaces>> workspaces::open(const std::string& root) {
  std::error_code error;
  fs::create_directories(root, error);
  const auto real = fs::weakly_canonical(root, error).string();
  const auto bad = [&](const std::string& why) {
    return failure("bad_config",
                   "the directory of workspaces " + root + ": " + why + "; choose another with worker.workspaces");
  };
  if (error || ::chmod(real.c_str(), 0700) < 0) return bad(error ? error.message() : std::strerror(errno));
  std::unique_ptr<workspaces> out(new workspaces(real));
  for (const char* own : {"/.removed", "/.probe", "/.probe/files", "/.probe/tmp"})
    if (auto made = make_folder(real + own, 0700, {}); !made) return bad(made.error().detail);
  out->thread_ = std::thread([self = out.get()] { self->run(); });
  return out;
}

workspaces::~workspaces() {
  {
    const std::lock_guard lock(guard_);
    is_over_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void workspaces::remove_unused() {
  {
    const std::lock_guard lock(guard_);
    removes_unused_ = look_again_ = true;
  }
  wake_.notify_all();
}

bool workspaces::set_keep(const std::string& name, milliseconds keep) const {
  return static_cast<bool>(std::ofstream(path(name) + "/keep") << keep.count() << "\n" << std::flush);
}

result<void> workspaces::make(const workspace_place& place, const std::optional<task_account>& as) const {
  const auto own = path(place.name);
  struct stat is {};
  if (::lstat((own + "/files").c_str(), &is) == 0) {
    if (is.st_uid != (as ? as->uid : ::geteuid()))
      return failure(failure_code::workspace_isolation,
                     "workspace_isolation: the workspace of this conversation belongs to user " +
                         std::to_string(is.st_uid) +
                         " of the worker, and this agent runs as another; give the agents of "
                         "one conversation one `user`");
    return {};
  }
  if (place.must_exist)
    return failure(failure_code::workspace_gone,
                   "the files of this conversation are gone from the worker: its workspace " + place.name +
                       " was removed. The next call gets a new, empty one");
  // The keep file first: what a crash leaves is then removed some day.
  if (auto made = make_folder(own, 0700, {}); !made) return made;
  if (!set_keep(place.name, place.keep)) return disk_fault("write", own + "/keep");
  if (auto made = make_folder(own + "/tmp", 01777, as); !made) return made;
  return make_folder(own + "/files", 0700, as);
}

result<std::optional<workspace_request>> workspaces::begin(const operation_id& task, const workspace_place& place,
                                                           const std::optional<task_account>& as) {
  const std::lock_guard lock(guard_);
  struct stat is {};
  if (place.remove) {
    if (::lstat(path(place.name).c_str(), &is) < 0) return std::optional<workspace_request>{};
    entries_[place.name].doomed = true;
    set_keep(place.name, milliseconds{1}); // so that a later life of this worker removes it
  } else if (auto made = make(place, as); !made) {
    return tl::unexpected(made.error());
  }
  auto& entry = entries_[place.name];
  ++entry.live;
  tasks_.emplace(task, place.name);
  ::utimensat(AT_FDCWD, (path(place.name) + "/keep").c_str(), nullptr, 0);
  if (place.remove) return std::optional<workspace_request>{};
  workspace_request out;
  out.name = place.name;
  if (place.quota_bytes == 0) return std::optional(std::move(out));
  out.file_limit = place.quota_bytes - std::min(place.quota_bytes, entry.used);
  if (out.file_limit == 0)
    out.notice = "quell: this workspace holds " + with_unit(entry.used) + ", and its quota is " +
                 with_unit(place.quota_bytes) + ": nothing can be written until files are removed\n";
  return std::optional(std::move(out));
}

void workspaces::leave(const operation_id& task) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return;
  const auto name = at->second;
  tasks_.erase(at);
  auto& entry = entries_[name];
  --entry.live;
  ::utimensat(AT_FDCWD, (path(name) + "/keep").c_str(), nullptr, 0);
  look_again_ = true;
  if (entry.live == 0 && entry.doomed)
    remove(name);
  else
    to_measure_.insert(name);
}

void workspaces::ended(const operation_id& task) {
  {
    const std::lock_guard lock(guard_);
    leave(task);
  }
  wake_.notify_all();
}

void workspaces::all_ended() {
  {
    const std::lock_guard lock(guard_);
    while (!tasks_.empty()) leave(operation_id(tasks_.begin()->first));
  }
  wake_.notify_all();
}

/// Under the lock; the thread deletes it.
void workspaces::remove(const std::string& name) {
  entries_.erase(name);
  to_measure_.erase(name);
  const auto gone = root_ + "/.removed/" + std::to_string(::getpid()) + "-" + std::to_string(++removals_) + "-" + name;
  if (::rename(path(name).c_str(), gone.c_str()) < 0 && errno != ENOENT)
    spdlog::warn("workspace {} cannot be removed: {}", name, std::strerror(errno));
  has_removed_ = true;
}

std::chrono::milliseconds workspaces::sweep() {
  std::error_code error;
  std::chrono::milliseconds next = longest_pause;
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(root_, error))
    if (const auto name = e.path().filename().string(); name.front() != '.') names.push_back(name);
  for (const auto& name : names) {
    const std::lock_guard lock(guard_);
    if (const auto at = entries_.find(name); at != entries_.end() && at->second.live > 0) continue;
    struct stat is {};
    const auto keep = kept_for(path(name));
    if (keep.count() == 0 || ::stat((path(name) + "/keep").c_str(), &is) < 0) continue;
    const auto used = std::chrono::seconds{is.st_mtim.tv_sec} + std::chrono::nanoseconds{is.st_mtim.tv_nsec};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        used + keep - std::chrono::system_clock::now().time_since_epoch());
    if (left.count() > 0) {
      next = std::min<std::chrono::milliseconds>(next, left + 1ms);
      continue;
    }
    spdlog::info("workspace {} is removed: it was not used for {} s", name, keep.count() / 1000);
    remove(name);
  }
  return std::max<std::chrono::milliseconds>(next, shortest_pause);
}

void workspaces::measure_all() {
  std::error_code error;
  for (const auto& e : fs::directory_iterator(root_, error))
    if (const auto name = e.path().filename().string(); name.front() != '.') {
      const std::lock_guard lock(guard_);
      to_measure_.insert(name);
    }
}

void workspaces::run() {
  measure_all();
  std::unique_lock lock(guard_);
  auto look_at = std::chrono::steady_clock::now();
  while (!is_over_) {
    if (std::exchange(has_removed_, false)) {
      lock.unlock();
      if (!empty_folder(root_ + "/.removed"))
        spdlog::warn("a removed workspace cannot be deleted; delete what is in {}/.removed", root_);
      lock.lock();
    } else if (!to_measure_.empty()) {
      const auto name = *to_measure_.begin();
      to_measure_.erase(to_measure_.begin());
      lock.unlock();
      const auto used = bytes_below(path(name));
      lock.lock();
      if (::access(path(name).c_str(), F_OK) == 0) entries_[name].used = used;
    } else if (!removes_unused_) {
      wake_.wait(lock);
    } else if (std::exchange(look_again_, false) || std::chrono::steady_clock::now() >= look_at) {
      lock.unlock();
      look_at = std::chrono::steady_clock::now() + sweep();
      lock.lock();
    } else {
      wake_.wait_until(lock, look_at);
    }
  }
}

} // namespace quell::worker
