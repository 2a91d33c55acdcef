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
#include "worker/guild_bytes.hpp"
#include "worker/workspace_limits.hpp"

namespace quell::worker {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds longest_pause = 10min;
constexpr std::uint64_t bytes_of_entry = 512;
constexpr int most_levels = 200;

// A running task is looked at this often, but measuring takes at most a twentieth of the thread's time.
constexpr auto look_every = 2s;
constexpr int rest_factor = workspace_turns::rest_factor;

void add_use(int folder, int levels, std::uint64_t most_counted, workspace_use& sum) { // takes the descriptor
  DIR* entries = ::fdopendir(folder);
  if (!entries) {
    ::close(folder);
    return;
  }
  while (const dirent* e = ::readdir(entries)) {
    const std::string_view name = e->d_name;
    struct stat is {};
    if (name == "." || name == "..") continue;
    if (::fstatat(folder, e->d_name, &is, AT_SYMLINK_NOFOLLOW) < 0) {
      if (errno == EACCES) sum.bytes = endless; // closed to its own owner, so that nobody can measure it
      continue;
    }
    sum.bytes += static_cast<std::uint64_t>(is.st_blocks) * 512 + bytes_of_entry;
    ++sum.entries;
    if (sum.bytes >= endless || sum.entries > most_counted) break;
    if (!S_ISDIR(is.st_mode)) continue;
    if (levels == 0) {
      sum.bytes = endless;
    } else if (const int inner = ::openat(folder, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
               inner >= 0) {
      add_use(inner, levels - 1, most_counted, sum);
    } else if (errno == EACCES) {
      sum.bytes = endless;
    }
    if (sum.bytes >= endless || sum.entries > most_counted) break;
  }
  ::closedir(entries);
  sum.bytes = std::min(sum.bytes, endless);
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

std::uint64_t most_entries(std::uint64_t quota_bytes) { return std::max<std::uint64_t>(1024, quota_bytes / 4096); }

workspace_use use_below(const std::string& path, std::uint64_t most_counted) {
  workspace_use all;
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) add_use(folder, most_levels, most_counted, all);
  return all;
}

workspaces::workspaces(std::string root, std::uint64_t most_of_guild)
    : root_(std::move(root)), most_of_guild_(most_of_guild), of_guilds_(std::make_unique<guild_bytes>()) {}

result<std::unique_ptr<workspaces>> workspaces::open(const std::string& root, std::uint64_t most_of_guild,
                                                     removed_trees::emptying empties) {
  std::error_code error;
  fs::create_directories(root, error);
  const auto real = fs::weakly_canonical(root, error).string();
  const auto bad = [&](const std::string& why) {
    return failure("bad_config",
                   "the directory of workspaces " + root + ": " + why + "; choose another with worker.workspaces");
  };
  if (error || ::chmod(real.c_str(), 0700) < 0) return bad(error ? error.message() : std::strerror(errno));
  std::unique_ptr<workspaces> out(new workspaces(real, most_of_guild));
  for (const char* own : {"/.removed", "/.probe", "/.probe/files", "/.probe/tmp"})
    if (auto made = make_folder(real + own, 0700, {}); !made) return bad(made.error().detail);
  out->removed_ = std::make_unique<removed_trees>(real + "/.removed", std::move(empties));
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
    removes_unused_ = true;
    turns_.sweep_at(std::chrono::steady_clock::now());
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
  // The keep file first: what a crash leaves is then removed some day. `files` gets its name last, so that a crash
  // leaves none that belongs to the wrong user.
  if (auto made = make_folder(own, 0700, {}); !made) return made;
  if (!set_keep(place.name, place.keep)) return disk_fault("write", own + "/keep");
  if (auto made = make_folder(own + "/tmp", 01777, as); !made) return made;
  if (auto made = make_folder(own + "/files.new", 0700, as); !made) return made;
  if (::rename((own + "/files.new").c_str(), (own + "/files").c_str()) < 0) return disk_fault("name", own + "/files");
  return {};
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
  const auto since = std::chrono::steady_clock::now();
  const bool is_up_to_date = !turns_.is_to_be_measured(place.name) && measuring_ != place.name;
  const auto guild = guild_of_workspace(place.name);
  const auto of_guild = of_guilds_->of(guild);
  const bool is_guild_full = most_of_guild_ > 0 && of_guild >= most_of_guild_;
  const bool has_room = entry.is_measured ? !is_full(entry.used, place.quota_bytes) : !place.must_exist;
  entry.tasks.insert(task);
  if (!place.remove) entry.quota = place.quota_bytes;
  if (!turns_.is_looked_at(place.name) && measuring_ != place.name) look_again(place.name, entry, since + look_every);
  tasks_.emplace(task, inside{place.name, is_up_to_date && has_room, place.remove, since});
  if (is_watched(entry)) wake_.notify_all();
  ::utimensat(AT_FDCWD, (path(place.name) + "/keep").c_str(), nullptr, 0);
  if (place.remove) return std::optional<workspace_request>{};
  workspace_request out;
  out.name = place.name;
  std::string why;
  if (place.quota_bytes > 0) {
    out.file_limit = place.quota_bytes - std::min(place.quota_bytes, entry.used.bytes);
    if (is_full(entry.used, place.quota_bytes)) why = too_much(entry.used, place.quota_bytes);
  }
  if (most_of_guild_ > 0) {
    out.file_limit = std::min(out.file_limit, most_of_guild_ - std::min(most_of_guild_, of_guild));
    if (is_guild_full && why.empty()) why = guild_holds_too_much(guild, of_guild, most_of_guild_);
  }
  if (!why.empty()) {
    out.file_limit = 0;
    out.notice = "quell: " + why + ": nothing can be written until files are removed\n";
  }
  return std::optional(std::move(out));
}

void workspaces::leave(const operation_id& task) {
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return;
  const auto name = at->second.name;
  tasks_.erase(at);
  auto& entry = entries_[name];
  entry.tasks.erase(task);
  ::utimensat(AT_FDCWD, (path(name) + "/keep").c_str(), nullptr, 0);
  if (entry.tasks.empty()) turns_.look_no_more(name);
  if (removes_unused_) turns_.sweep_at(std::chrono::steady_clock::now());
  if (entry.tasks.empty() && entry.doomed)
    remove(name);
  else
    turns_.measure_soon(name);
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

/// Under the lock; another thread deletes it.
void workspaces::remove(const std::string& name) {
  if (const auto at = entries_.find(name); at != entries_.end()) {
    of_guilds_->change(guild_of_workspace(name), at->second.charged, 0);
    entries_.erase(at);
  }
  turns_.forget(name);
  const auto gone = root_ + "/.removed/" + std::to_string(::getpid()) + "-" + std::to_string(++removals_) + "-" + name;
  if (::rename(path(name).c_str(), gone.c_str()) < 0 && errno != ENOENT)
    spdlog::warn("workspace {} cannot be removed: {}", name, std::strerror(errno));
  removed_->has_more();
}

std::chrono::milliseconds workspaces::sweep() {
  std::error_code error;
  std::chrono::milliseconds next = longest_pause;
  std::vector<std::string> names;
  for (const auto& e : fs::directory_iterator(root_, error))
    if (const auto name = e.path().filename().string(); name.front() != '.') names.push_back(name);
  for (const auto& name : names) {
    const std::lock_guard lock(guard_);
    if (const auto at = entries_.find(name); at != entries_.end() && !at->second.tasks.empty()) continue;
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
  return next;
}

void workspaces::measure_all() {
  std::error_code error;
  for (const auto& e : fs::directory_iterator(root_, error))
    if (const auto name = e.path().filename().string(); name.front() != '.') {
      const std::lock_guard lock(guard_);
      turns_.measure_soon(name);
    }
}

void workspaces::look_again(const std::string& name, const entry& one, steady_time at) {
  if (!one.tasks.empty() && is_watched(one)) turns_.look_at(name, at);
}

void workspaces::note_use(const std::string& name, entry& of, const workspace_use& used, std::uint64_t quota) {
  of.used = used;
  const auto before = std::exchange(of.charged, charged_bytes(used, quota));
  of_guilds_->change(guild_of_workspace(name), before, of.charged);
}

void workspaces::measure(const std::string& name, std::unique_lock<std::mutex>& lock) {
  measuring_ = name;
  const auto known = entries_.find(name);
  const auto quota = known == entries_.end() ? 0 : known->second.quota;
  lock.unlock();
  const auto begun = std::chrono::steady_clock::now();
  const auto used = use_below(path(name), quota > 0 ? most_counted(quota) : ~0ULL);
  const auto over = std::chrono::steady_clock::now();
  lock.lock();
  // Under the lock: a removal in between would come back as bytes that nobody measures again.
  const bool is_there = ::access(path(name).c_str(), F_OK) == 0;
  measuring_.clear();
  const auto next = over + std::max<std::chrono::steady_clock::duration>(look_every, rest_factor * (over - begun));
  if (!is_there) {
    // Somebody can have deleted it under a task.
    if (const auto at = entries_.find(name); at != entries_.end()) {
      note_use(name, at->second, {}, 0);
      look_again(name, at->second, next);
    }
    return;
  }
  auto& entry = entries_[name];
  note_use(name, entry, used, quota);
  entry.is_measured = true;
  look_again(name, entry, next);
  look_for_filling(name, entry, begun);
}

/// Nobody knows which task has written what. One that began in a full workspace is let be unless that grows on. Where a
/// guild holds too much, only the workspaces that grow are looked at.
void workspaces::look_for_filling(const std::string& name, const entry& now, steady_time from) {
  if (now.tasks.empty() || !is_watched(now)) return;
  const bool is_beyond = now.quota > 0 && is_far_beyond(now.used, now.quota);
  const auto guild = guild_of_workspace(name);
  const auto of_guild = of_guilds_->of(guild);
  const bool is_guild_beyond = most_of_guild_ > 0 && is_far_beyond(of_guild, most_of_guild_);
  for (const auto& task : now.tasks) {
    auto& one = tasks_.at(task);
    if (one.is_reported || one.since > from) continue;
    const bool is_first = !std::exchange(one.first, one.first.value_or(now.used)).has_value();
    const bool has_grown = !is_first && (now.used.bytes > one.first->bytes + leeway_bytes ||
                                         now.used.entries > one.first->entries + leeway_entries);
    const bool fills = is_beyond && (one.had_room || has_grown);
    if (!fills && !(is_guild_beyond && has_grown)) continue;
    one.is_reported = true;
    const auto why = fills ? too_much(now.used, now.quota) : guild_holds_too_much(guild, of_guild, most_of_guild_);
    filling_.push_back({task, why + "; what runs there was ended. Remove files first"});
    has_filling_ = true;
  }
}

std::vector<workspaces::filling> workspaces::take_filling() {
  if (!has_filling_.exchange(false)) return {};
  const std::lock_guard lock(guard_);
  return std::exchange(filling_, {});
}

void workspaces::run() {
  measure_all();
  std::unique_lock lock(guard_);
  while (!is_over_) {
    const auto begun = std::chrono::steady_clock::now();
    const auto turn = turns_.next(begun);
    switch (turn.what) {
    case workspace_turns::turn::kind::sweep: {
      lock.unlock();
      const auto pause = sweep();
      const auto over = std::chrono::steady_clock::now();
      lock.lock();
      turns_.swept(begun, over, over + pause);
      break;
    }
    case workspace_turns::turn::kind::measure:
      measure(turn.name, lock);
      break;
    case workspace_turns::turn::kind::wait:
      if (turn.until)
        wake_.wait_until(lock, *turn.until);
      else
        wake_.wait(lock);
      break;
    }
  }
}

} // namespace quell::worker
