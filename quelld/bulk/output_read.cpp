// Reads output: slices of a stream, counts, and the order of both streams.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "quelld/bulk/output_files.hpp"

namespace quell::controller {

namespace {

/// Fewer bytes are read at once: that costs less than opening their file for somebody else.
constexpr std::uint64_t least_located_bytes = 32 * 1024;

/// Null if the file is gone (pruned meanwhile).
std::shared_ptr<const int> open_to_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return fd < 0 ? nullptr : held_descriptor(fd);
}

/// Up to `limit` bytes of a file from `from`; empty if the file is gone.
std::string read_piece(const std::string& path, std::uint64_t from, std::size_t limit) {
  const auto file = open_to_read(path);
  if (!file) return {};
  std::string bytes(limit, '\0');
  std::size_t got = 0;
  while (got < limit) {
    const auto n = ::pread(*file, bytes.data() + got, limit - got, static_cast<off_t>(from + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

} // namespace

std::shared_ptr<const int> held_descriptor(int fd) {
  return {new int(fd), [](const int* held) {
            ::close(*held);
            delete held;
          }};
}

output_files::place output_files::find(const operation_id& id, stream which, std::uint64_t offset,
                                       std::size_t limit_bytes) {
  place p;
  auto& s = p.about;
  const auto look = [&](const track& t) {
    s.size = t.size;
    s.dropped = t.dropped;
    s.oldest = t.segments.empty() ? t.size : t.segments.front().start;
    s.offset = std::min(std::max(offset, s.oldest), t.size);
    auto at = std::upper_bound(t.segments.begin(), t.segments.end(), s.offset,
                               [](std::uint64_t wanted, const segment& seg) { return wanted < seg.start; });
    if (at != t.segments.begin() && std::prev(at)->start + std::prev(at)->length > s.offset) --at;
    at = std::find_if(at, t.segments.end(), [](const segment& seg) { return seg.length > 0; });
    if (at == t.segments.end()) {
      s.offset = t.size; // the bytes before it are lost
      return;
    }
    s.offset = std::max(s.offset, at->start);
    char name[48];
    std::snprintf(name, sizeof name, "/%s.%016llx", std::string(name_of(which)).c_str(),
                  static_cast<unsigned long long>(at->start));
    p.path = folder(id) + name;
    p.from = s.offset - at->start;
    p.length = std::min<std::uint64_t>(limit_bytes, at->length - p.from);
  };
  {
    std::lock_guard lock(mutex_);
    const auto it = live_.find(id);
    if (it != live_.end()) {
      const auto& t = opened(id, it->second).streams[static_cast<int>(which)];
      look(t);
      s.end = t.ended;
      return p;
    }
  }
  look(load(id, pieces::without).streams[static_cast<int>(which)]); // without delaying anybody
  s.end = true;
  return p;
}

result<output_store::slice> output_files::read(const operation_id& id, stream which, std::uint64_t offset,
                                               std::size_t limit_bytes) {
  auto found = find(id, which, offset, limit_bytes);
  auto& s = found.about;
  if (!found.path.empty()) s.bytes = read_piece(found.path, found.from, found.length);
  s.end = s.end && s.offset + s.bytes.size() >= s.size;
  return std::move(s);
}

result<output_store::located> output_files::locate(const operation_id& id, stream which, std::uint64_t offset,
                                                   std::size_t limit_bytes) {
  auto found = find(id, which, offset, limit_bytes);
  output_store::located all{std::move(found.about), std::nullopt};
  if (found.length >= least_located_bytes) {
    if (auto file = open_to_read(found.path)) all.stored = file_range{std::move(file), found.from, found.length};
  } else if (!found.path.empty()) {
    all.about.bytes = read_piece(found.path, found.from, found.length);
  }
  all.about.end = all.about.end && all.about.offset + all.length() >= all.about.size;
  return all;
}

output_counts output_files::counts(const operation_id& id) {
  std::unique_lock lock(mutex_);
  const auto it = live_.find(id);
  entry ended;
  if (it == live_.end()) {
    lock.unlock(); // the files of what has ended are read without delaying anybody
    ended = load(id, pieces::without);
  }
  const auto& s = lock ? opened(id, it->second).streams : ended.streams;
  return {s[0].size, s[1].size, s[0].dropped + s[1].dropped};
}

std::vector<output_store::piece> output_files::order(const operation_id& id, std::uint64_t after_piece,
                                                     std::size_t limit) {
  std::unique_lock lock(mutex_);
  const auto it = live_.find(id);
  entry ended;
  if (it == live_.end()) {
    lock.unlock();
    ended = load(id, pieces::with);
  }
  const auto& from = lock ? opened(id, it->second) : ended;
  const auto end = from.pieces_gone + from.pieces.size();
  std::vector<output_store::piece> found;
  // Pruned pieces keep their numbers, since readers resume by number.
  for (auto i = after_piece; i < end && found.size() < limit; ++i)
    found.push_back(i < from.pieces_gone ? output_store::piece{stream::out, 0, 0} : from.pieces[i - from.pieces_gone]);
  return found;
}

} // namespace quell::controller
