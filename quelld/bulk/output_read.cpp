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

/// Up to `limit` bytes of a file from `from`; empty if the file is gone (pruned meanwhile).
std::string read_piece(const std::string& path, std::uint64_t from, std::size_t limit) {
  std::string bytes(limit, '\0');
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::size_t got = 0;
  while (got < limit) {
    const auto n = ::pread(fd, bytes.data() + got, limit - got, static_cast<off_t>(from + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  ::close(fd);
  bytes.resize(got);
  return bytes;
}

} // namespace

result<output_store::slice> output_files::read(const operation_id& id, stream which, std::uint64_t offset,
                                               std::size_t limit_bytes) {
  track t;
  {
    std::lock_guard lock(mutex_);
    const auto it = live_.find(id);
    if (it != live_.end()) {
      t = opened(id, it->second).streams[static_cast<int>(which)];
    } else {
      t = load(id, pieces::without).streams[static_cast<int>(which)];
      t.ended = true;
    }
  }
  output_store::slice s;
  s.size = t.size;
  s.dropped = t.dropped;
  s.oldest = t.segments.empty() ? t.size : t.segments.front().start;
  s.offset = std::min(std::max(offset, s.oldest), t.size);
  for (const auto& seg : t.segments) {
    if (seg.start + seg.length <= s.offset || seg.length == 0) continue;
    s.offset = std::max(s.offset, seg.start);
    char name[48];
    std::snprintf(name, sizeof name, "/%s.%016llx", std::string(name_of(which)).c_str(),
                  static_cast<unsigned long long>(seg.start));
    const auto in = s.offset - seg.start;
    s.bytes = read_piece(folder(id) + name, in, std::min<std::uint64_t>(limit_bytes, seg.length - in));
    break;
  }
  s.end = t.ended && s.offset + s.bytes.size() >= t.size;
  return s;
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
