// One thread writes and removes; readers open the file by themselves. A file that cannot be read is left alone.
#include "quelld/bulk/blob_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "protocol/attachment.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t least_charge = 4096;             ///< for a small file
constexpr std::uint64_t most_unwritten_bytes = 64 << 20; ///< of uploads that are not written yet
constexpr std::size_t most_header = 4096;

std::uint64_t charge_of(std::uint64_t bytes) { return std::max(bytes, least_charge); }

std::string header_of(const blob_facts& f, milliseconds keep) {
  json all = {{"scope", f.scope.text()}, {"holder", f.holder}, {"type", f.type},
              {"name", f.name},          {"bytes", f.bytes},   {"sha256", f.sha256}};
  if (keep.count() > 0) all["keep_ms"] = keep.count();
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string trouble_of(const std::string& path) {
  return path + " cannot be written: " + std::strerror(errno) +
         ". Check the permissions and the free space of the state directory.";
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

} // namespace

result<std::unique_ptr<blob_files>> blob_files::open(options o) {
  std::unique_ptr<blob_files> files(new blob_files(std::move(o)));
  const auto& directory = files->options_.directory;
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) fs::permissions(directory, fs::perms::owner_all, error);
  if (error)
    return failure(error_code::storage_unavailable, directory + " cannot be used for blobs: " + error.message());
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const auto name = at->path().filename().string();
    if (const auto id = blob_id::parse(name))
      files->load(at->path().string(), *id);
    else if (name.ends_with(".new")) // a crash came before its rename
      ::unlink(at->path().c_str());
  }
  if (error) return failure(error_code::storage_unavailable, directory + " cannot be read: " + error.message());
  files->thread_ = std::thread([raw = files.get()] { raw->run(); });
  return files;
}

blob_files::~blob_files() { close(); }

void blob_files::close() {
  {
    const std::lock_guard lock(guard_);
    is_over_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void blob_files::load(const std::string& path, const blob_id& id) {
  std::ifstream file(path, std::ios::binary);
  std::string line(most_header, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  const auto end = line.find('\n');
  const auto header = json::parse(line.substr(0, end), nullptr, false);
  struct stat found {};
  const bool is_readable = end != std::string::npos && header.is_object() && ::stat(path.c_str(), &found) == 0;
  const auto text = [&](const char* key) {
    const auto at = is_readable ? header.find(key) : header.end();
    return is_readable && at != header.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const auto scope = scope_path::parse(text("scope"));
  kept one;
  if (const auto bytes = is_readable ? header.find("bytes") : header.end();
      is_readable && bytes != header.end() && bytes->is_number_unsigned())
    one.facts.bytes = bytes->get<std::uint64_t>();
  const bool is_whole = is_readable && static_cast<std::uint64_t>(found.st_size) == end + 1 + one.facts.bytes;
  if (!is_whole || !scope) return spdlog::warn("{} is not a blob that can be read; it is left alone", path);
  one.facts.id = id;
  one.facts.scope = *scope;
  one.facts.holder = text("holder");
  one.facts.type = text("type");
  one.facts.name = text("name");
  one.facts.sha256 = text("sha256");
  one.facts.at = id.time();
  if (const auto keep = header.find("keep_ms"); keep != header.end() && keep->is_number_unsigned())
    one.keep = milliseconds(keep->get<std::int64_t>());
  one.header_bytes = end + 1;
  one.used_at = wall_time{milliseconds{found.st_mtim.tv_sec * 1000 + found.st_mtim.tv_nsec / 1'000'000}};
  add(std::move(one));
}

void blob_files::add(kept one) {
  const auto& f = one.facts;
  const auto charge = charge_of(f.bytes);
  total_ += charge;
  of_scope_[f.scope.text()] += charge;
  (f.holder.empty() ? of_guild_[f.scope.guild().text()] : of_holder_[f.holder]) += charge;
  same_[{f.scope.text(), f.type, f.name, f.sha256}] = f.id;
  const auto id = f.id;
  all_.insert_or_assign(id, std::move(one));
}

void blob_files::remove(const blob_id& id) {
  const auto at = all_.find(id);
  if (at == all_.end()) return;
  const auto& f = at->second.facts;
  const auto charge = charge_of(f.bytes);
  const auto give_back = [&](auto& sums, const std::string& key) {
    const auto sum = sums.find(key);
    if (sum != sums.end() && (sum->second -= charge) == 0) sums.erase(sum);
  };
  total_ -= charge;
  give_back(of_scope_, f.scope.text());
  if (f.holder.empty())
    give_back(of_guild_, f.scope.guild().text());
  else
    give_back(of_holder_, f.holder);
  const auto same = same_.find({f.scope.text(), f.type, f.name, f.sha256});
  if (same != same_.end() && same->second == id) same_.erase(same);
  all_.erase(at);
}

milliseconds blob_files::keep_of(const kept& one) const {
  if (one.keep.count() == 0) return options_.keep;
  return options_.keep.count() > 0 ? std::min(one.keep, options_.keep) : one.keep;
}

blob_facts blob_files::shown(const kept& one) const {
  auto facts = one.facts;
  const auto keep = keep_of(one);
  facts.kept_until = keep.count() > 0 ? one.used_at + keep : wall_time::max();
  return facts;
}

std::optional<fault> blob_files::why_no_room(const new_blob& what) const {
  const auto charge = charge_of(what.bytes.size());
  const auto is_over = [&](std::uint64_t limit, std::uint64_t used) { return limit > 0 && used + charge > limit; };
  const auto used_of = [](const auto& sums, const std::string& key) {
    const auto at = sums.find(key);
    return at == sums.end() ? std::uint64_t{0} : at->second;
  };
  const auto refused = [](const std::string& whose, const char* setting) {
    return coded_fault{error_code::rate_limited,
                       "the files of " + whose + " take all the room that they may (limits." + setting +
                           "); the oldest go when they were not used for store.keep_blobs",
                       {}};
  };
  if (!what.holder.empty() && is_over(options_.bytes_per_holder, used_of(of_holder_, what.holder)))
    return refused("this token", "blob_bytes_per_token");
  if (is_over(options_.bytes_per_scope, used_of(of_scope_, what.scope.text())))
    return refused("scope " + what.scope.text(), "blob_bytes_per_scope");
  if (is_over(options_.bytes_in_all, total_))
    return coded_fault{error_code::storage_unavailable,
                       "all uploaded files together take the room that they may (limits.blob_bytes_in_all)",
                       {}};
  const auto guild = what.scope.guild().text();
  if (what.holder.empty() && options_.bytes_in_all > 0 &&
      used_of(of_guild_, guild) >= options_.bytes_in_all - std::min(options_.bytes_in_all, total_))
    return refused(guild, "blob_bytes_in_all, of which some stays for others");
  struct statvfs space {};
  if (options_.reserve_bytes > 0 && ::statvfs(options_.directory.c_str(), &space) == 0 &&
      static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize < options_.reserve_bytes + what.bytes.size())
    return coded_fault{
        error_code::storage_unavailable, "the state directory is low on space, so no files are taken", {}};
  return std::nullopt;
}

/// On the writing thread, so that no other blob takes the room in between.
result<put_blob> blob_files::write(new_blob what) {
  kept one;
  auto& f = one.facts;
  f.sha256 = sha256_hex(what.bytes);
  {
    const std::lock_guard lock(guard_);
    const auto same = same_.find({what.scope.text(), what.type, what.name, f.sha256});
    if (what.id && all_.contains(*what.id)) return put_blob{shown(all_.at(*what.id)), false};
    if (!what.id && same != same_.end()) {
      auto& found = all_.at(same->second);
      found.used_at = options_.now();
      jobs_.emplace_back([path = path_of(same->second)] { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); });
      return put_blob{shown(found), false};
    }
    if (auto why = why_no_room(what)) return tl::unexpected(std::move(*why));
  }
  f.id = what.id ? *what.id : blob_id::fresh();
  f.scope = what.scope;
  f.holder = what.holder;
  f.type = what.type;
  f.name = what.name;
  f.bytes = what.bytes.size();
  f.at = one.used_at = options_.now();
  one.keep = what.keep;
  const auto header = header_of(f, one.keep);
  one.header_bytes = header.size();
  if (header.size() > most_header)
    return failure(error_code::invalid_field, "the names of the scope and the file are too long");
  const auto path = path_of(f.id), temporary = path + ".new";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return failure(error_code::storage_unavailable, trouble_of(temporary));
  const bool is_written = write_whole(fd, header) && write_whole(fd, what.bytes) && ::fsync(fd) == 0;
  if (!is_written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    auto why = trouble_of(path);
    ::close(fd);
    ::unlink(temporary.c_str());
    return failure(error_code::storage_unavailable, std::move(why));
  }
  ::close(fd);
  sync_directory(options_.directory);
  const std::lock_guard lock(guard_);
  put_blob done{shown(one), true};
  add(std::move(one));
  return done;
}

void blob_files::put(new_blob what, std::function<void(result<put_blob>)> done) {
  if (what.bytes.size() > options_.most_bytes)
    return done(failure(error_code::too_large, "the file is larger than " + std::to_string(options_.most_bytes) +
                                                   " bytes (limits.blob_bytes)"));
  if (auto sound = check_media(what.type, what.bytes); !sound) return done(tl::unexpected(sound.error()));
  const auto bytes = what.bytes.size();
  {
    const std::lock_guard lock(guard_);
    if (is_over_) return done(failure(error_code::shutting_down, "quelld is shutting down; nothing was stored"));
    if (waiting_bytes_ + bytes > most_unwritten_bytes + options_.most_bytes)
      return done(failure(error_code::rate_limited, "too many files are being written; come again in a second"));
    waiting_bytes_ += bytes;
  }
  later([this, bytes, what = std::make_shared<new_blob>(std::move(what)), done = std::move(done)] {
    auto written = write(std::move(*what));
    {
      const std::lock_guard lock(guard_);
      waiting_bytes_ -= bytes;
    }
    done(std::move(written));
  });
}

std::optional<blob_facts> blob_files::find(const blob_id& id) const {
  const std::lock_guard lock(guard_);
  const auto at = all_.find(id);
  return at == all_.end() ? std::nullopt : std::optional(shown(at->second));
}

result<std::string> blob_files::read(const blob_id& id) {
  std::uint64_t header = 0, bytes = 0;
  {
    const std::lock_guard lock(guard_);
    const auto at = all_.find(id);
    if (at == all_.end()) return failure(error_code::blob_not_found, "there is no blob " + id.text());
    header = at->second.header_bytes;
    bytes = at->second.facts.bytes;
  }
  std::ifstream file(path_of(id), std::ios::binary);
  std::string content(bytes, '\0');
  file.seekg(static_cast<std::streamoff>(header));
  file.read(content.data(), static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(file.gcount()) != bytes)
    return failure(error_code::blob_not_found, "blob " + id.text() + " cannot be read any more");
  return content;
}

void blob_files::use(const std::vector<blob_id>& ids) {
  std::vector<std::string> paths;
  {
    const std::lock_guard lock(guard_);
    for (const auto& id : ids) {
      const auto at = all_.find(id);
      if (at == all_.end()) continue;
      at->second.used_at = options_.now();
      paths.push_back(path_of(id));
    }
  }
  if (paths.empty()) return;
  later([paths = std::move(paths)] {
    for (const auto& path : paths) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  });
}

std::size_t blob_files::sweep() {
  std::vector<blob_id> old;
  {
    const std::lock_guard lock(guard_);
    const auto now = options_.now();
    for (const auto& [id, one] : all_)
      if (const auto keep = keep_of(one); keep.count() > 0 && one.used_at < now - keep) old.push_back(id);
    for (const auto& id : old) remove(id);
  }
  for (const auto& id : old) ::unlink(path_of(id).c_str());
  return old.size();
}

void blob_files::later(std::function<void()> job) {
  {
    const std::lock_guard lock(guard_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_all();
}

void blob_files::run() {
  using namespace std::chrono_literals;
  const milliseconds interval =
      options_.keep.count() > 0 ? std::clamp<milliseconds>(options_.keep / 24, 500ms, 1h) : 1h;
  auto next = std::chrono::steady_clock::now() + interval;
  std::unique_lock lock(guard_);
  while (true) {
    wake_.wait_until(lock, next, [&] { return is_over_ || !jobs_.empty(); });
    if (!jobs_.empty()) { // also at the end: whoever waits for a file gets an answer
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
      continue;
    }
    if (is_over_) return;
    if (std::chrono::steady_clock::now() < next) continue;
    lock.unlock();
    if (const auto gone = sweep(); gone > 0) spdlog::info("{} uploaded files are no longer kept", gone);
    lock.lock();
    next = std::chrono::steady_clock::now() + interval;
  }
}

} // namespace quell::controller
