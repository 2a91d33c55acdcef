// Segments, positions and watchers of output. File names carry the offset, so a restart finds everything by listing a
// folder.
#include "quelld/bulk/output_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace quell::controller {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds settle_timeout{15};
constexpr std::size_t most_settled = 4096;  ///< operations that ended last: a watch of one of them is woken at once
constexpr std::size_t most_open_files = 32; ///< of segments that are written
constexpr std::uint64_t most_offset = 1ULL << 53; // as a JSON number; no arithmetic on offsets can overflow

/// The offset in a segment's name; nullopt for any other file.
std::optional<std::uint64_t> offset_in(std::string_view name, std::string_view prefix) {
  constexpr std::size_t digits = 16;
  if (!name.starts_with(prefix) || name.size() != prefix.size() + digits) return std::nullopt;
  std::uint64_t offset = 0;
  const auto [end, bad] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), offset, 16);
  if (bad != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return offset;
}

std::string segment_name(stream which, std::uint64_t start) {
  char name[48];
  std::snprintf(name, sizeof name, "%s.%016llx", std::string(name_of(which)).c_str(),
                static_cast<unsigned long long>(start));
  return name;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

} // namespace

output_files::output_files(options o) : options_(std::move(o)) {
  std::error_code ignored;
  fs::create_directories(options_.directory, ignored);
}

std::string output_files::folder(const operation_id& id) const {
  const auto text = id.text();
  return options_.directory + "/" + text.substr(34) + "/" + text;
}

wall_time output_files::now() { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); }

/// Reads the contents of the folder: files only, so it needs the lock only if the operation is live.
output_files::entry output_files::load(const operation_id& id, pieces wanted) const {
  entry e;
  e.loaded = true;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder(id), error)) {
    const auto name = file.path().filename().string();
    for (const auto which : {stream::out, stream::err}) {
      const auto prefix = std::string(name_of(which)) + ".";
      const auto start = offset_in(name, prefix);
      std::error_code size_error;
      if (!start || !file.is_regular_file(size_error)) continue;
      const auto length = file.file_size(size_error);
      if (!size_error && *start <= most_offset && length <= most_offset - *start)
        e.streams[static_cast<int>(which)].segments.push_back({*start, length});
    }
  }
  for (const auto which : {stream::out, stream::err}) {
    auto& t = e.streams[static_cast<int>(which)];
    std::sort(t.segments.begin(), t.segments.end(),
              [](const segment& a, const segment& b) { return a.start < b.start; });
    // A segment that overlaps an earlier one was not written here: the first one counts.
    std::uint64_t reached = 0;
    std::erase_if(t.segments, [&reached](const segment& s) {
      if (s.start < reached) return true;
      reached = s.start + s.length;
      return false;
    });
    for (const auto& s : t.segments) {
      t.dropped += s.start - t.size;
      t.size = s.start + s.length;
    }
  }
  if (wanted == pieces::with) order_pieces(folder(id), e);
  return e;
}

output_files::entry& output_files::opened(const operation_id& id, entry& e) const {
  if (e.loaded) return e;
  auto found = load(id, pieces::with);
  found.worker = std::move(e.worker);
  found.final_counts = e.final_counts;
  found.closed_at = e.closed_at;
  e = std::move(found);
  return e;
}

void output_files::expect(const operation_id& id, const std::string& worker) {
  std::lock_guard lock(mutex_);
  live_[id].worker = worker;
}

std::optional<std::string> output_files::worker_of(const operation_id& id) const {
  std::lock_guard lock(mutex_);
  const auto it = live_.find(id);
  if (it == live_.end()) return std::nullopt;
  return it->second.worker;
}

std::vector<output_files::position> output_files::positions(const std::string& worker) const {
  std::lock_guard lock(mutex_);
  std::vector<position> all;
  for (const auto& [id, e] : live_) {
    if (e.worker != worker) continue;
    if (e.loaded) {
      all.push_back({id, e.streams[0].size, e.streams[1].size});
    } else {
      const auto found = load(id, pieces::without);
      all.push_back({id, found.streams[0].size, found.streams[1].size});
    }
  }
  return all;
}

result<std::uint64_t> output_files::append(const wire::output& piece, wall_time at) {
  std::vector<std::function<void()>> calls;
  std::uint64_t reached = 0;
  {
    std::lock_guard lock(mutex_);
    const auto it = live_.find(piece.operation);
    if (it == live_.end()) return failure(error_code::not_found, "no output is expected for " + piece.operation.text());
    if (piece.offset > most_offset || piece.bytes.size() > most_offset - piece.offset)
      return failure(error_code::invalid_field,
                     "output of " + piece.operation.text() + " at an offset that no task reaches");
    auto& e = opened(piece.operation, it->second);
    auto& t = e.streams[static_cast<int>(piece.which)];
    std::string_view bytes = piece.bytes;
    auto offset = piece.offset;
    if (offset < t.size) {
      const auto overlap = std::min<std::uint64_t>(t.size - offset, bytes.size());
      bytes.remove_prefix(overlap);
      offset += overlap;
    }
    if (!bytes.empty()) {
      // Behind lost bytes, too, even if no segment could say that they are lost.
      const bool joins = !t.segments.empty() && t.segments.back().start + t.segments.back().length == offset;
      const bool fresh = !joins || t.segments.back().length >= options_.segment_bytes;
      const auto start = fresh ? offset : t.segments.back().start;
      std::error_code ignored;
      if (t.segments.empty()) fs::create_directories(folder(piece.operation), ignored);
      const int fd = segment_file(piece.operation, piece.which, start, fresh ? O_TRUNC : 0);
      if (fd < 0 || !write_all(fd, bytes)) {
        // Bytes that were written would precede their repeat, so the file is cut back to the acknowledged size.
        const std::string why = std::strerror(errno);
        close_files(piece.operation);
        const auto path = folder(piece.operation) + "/" + segment_name(piece.which, start);
        if (!fresh)
          fs::resize_file(path, t.segments.back().length, ignored);
        else
          fs::remove(path, ignored);
        return failure(error_code::storage_unavailable,
                       "output of " + piece.operation.text() + " cannot be written: " + why);
      }
      if (offset > t.size) t.dropped += offset - t.size;
      if (fresh) t.segments.push_back({offset, 0});
      t.segments.back().length += bytes.size();
      t.size = offset + bytes.size();
      // Pieces are never extended, because a reader can have consumed one already.
      e.pieces.push_back({piece.which, offset, bytes.size(), at});
      note_time(piece.operation, e, {piece.which, offset, at});
      if (e.pieces.size() > options_.most_pieces) {
        e.pieces.pop_front();
        ++e.pieces_gone;
      }
      prune(piece.operation, piece.which, t);
    }
    if (piece.end) {
      lose(piece.operation, piece.which, t, offset);
      t.ended = true;
    }
    reached = std::max(t.size, offset);
    const bool gone = settle(e, missing_bytes::expected);
    wake(piece.operation, e, calls);
    if (gone) forget_settled(it);
  }
  for (const auto& call : calls) call();
  return reached;
}

/// Counts the bytes of a stream up to this offset as lost. The stream goes on with an empty segment, which says so when
/// the files are all that is left.
void output_files::lose(const operation_id& id, stream which, track& t, std::uint64_t until) {
  if (until <= t.size || until > most_offset) return;
  std::error_code ignored;
  if (t.segments.empty()) fs::create_directories(folder(id), ignored);
  if (segment_file(id, which, until, O_TRUNC) >= 0) t.segments.push_back({until, 0});
  t.dropped += until - t.size;
  t.size = until;
}

/// The open file of a segment that is written, or -1.
int output_files::segment_file(const operation_id& id, stream which, std::uint64_t start, int flags) {
  const auto at = std::find_if(open_.begin(), open_.end(),
                               [&](const open_file& f) { return f.which == which && f.operation == id; });
  if (at != open_.end()) {
    if (at->start == start && flags == 0) {
      std::rotate(open_.begin(), at, std::next(at)); // the one that was written last comes first
      return *open_.front().descriptor;
    }
    open_.erase(at);
  }
  const auto path = folder(id) + "/" + segment_name(which, start);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | flags, 0600);
  if (fd < 0) return fd;
  if (open_.size() >= most_open_files) open_.pop_back();
  open_.insert(open_.begin(), {id, which, start, held_descriptor(fd)});
  return fd;
}

void output_files::close_files(const operation_id& id) {
  std::erase_if(open_, [&](const open_file& f) { return f.operation == id; });
}

void output_files::prune(const operation_id& id, stream which, track& t) const {
  std::uint64_t kept = 0;
  for (const auto& s : t.segments) kept += s.length;
  while (t.segments.size() > 1 && (kept - t.segments.front().length >= options_.keep_bytes_per_stream ||
                                   t.segments.size() > options_.keep_segments_per_stream)) {
    std::error_code ignored;
    fs::remove(folder(id) + "/" + segment_name(which, t.segments.front().start), ignored);
    kept -= t.segments.front().length;
    t.dropped += t.segments.front().length;
    t.segments.erase(t.segments.begin());
  }
}

void output_files::counted(const operation_id& id, const std::string& worker, const output_counts& counts) {
  std::lock_guard lock(mutex_);
  const auto it = live_.find(id);
  if (it != live_.end() && it->second.worker == worker) it->second.final_counts = counts;
}

void output_files::close(const operation_id& id, boot_time now) {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    const auto it = live_.find(id);
    if (it == live_.end()) {
      // Never started: followers must learn that nothing will come. Most have none, and then no folder is looked at.
      if (watching_.contains(id)) wake(id, load(id, pieces::without), calls);
    } else {
      auto& e = opened(id, it->second);
      e.closed_at = now;
      const bool gone = settle(e, e.final_counts ? missing_bytes::expected : missing_bytes::given_up);
      wake(id, e, calls);
      if (gone) forget_settled(it);
    }
  }
  for (const auto& call : calls) call();
}

void output_files::drop(const operation_id& id) {
  {
    std::lock_guard lock(mutex_);
    if (live_.contains(id)) return;
  }
  std::error_code ignored; // a file that cannot be removed now is never read again and harms nothing
  fs::remove_all(folder(id), ignored);
}

/// True when the operation is terminal and its streams are complete: its entry can be freed.
bool output_files::settle(entry& e, missing_bytes are) {
  if (!e.closed_at) return false;
  const std::array<std::uint64_t, 2> due = {e.final_counts ? e.final_counts->stdout_bytes : 0,
                                            e.final_counts ? e.final_counts->stderr_bytes : 0};
  for (std::size_t i = 0; i < 2; ++i) {
    auto& t = e.streams[i];
    if (t.size >= due[i] || are == missing_bytes::given_up) t.ended = true;
  }
  return e.streams[0].ended && e.streams[1].ended;
}

void output_files::give_up(boot_time now) {
  std::vector<std::function<void()>> calls;
  {
    std::lock_guard lock(mutex_);
    for (auto it = live_.begin(); it != live_.end();) {
      auto& e = it->second;
      if (e.closed_at && now - *e.closed_at > settle_timeout) {
        if (e.final_counts) {
          lose(it->first, stream::out, e.streams[0], e.final_counts->stdout_bytes);
          lose(it->first, stream::err, e.streams[1], e.final_counts->stderr_bytes);
        }
        (void)settle(e, missing_bytes::given_up);
        wake(it->first, e, calls);
        it = forget_settled(it);
      } else {
        ++it;
      }
    }
  }
  for (const auto& call : calls) call();
}

void output_files::wake(const operation_id& id, const entry& e, std::vector<std::function<void()>>& calls) {
  const auto [begin, end] = watching_.equal_range(id);
  for (auto it = begin; it != end;) {
    const auto found = watchers_.find(it->second);
    const bool more = found != watchers_.end() &&
                      (e.streams[0].size > found->second.seen[0] || e.streams[1].size > found->second.seen[1] ||
                       (e.closed_at && e.streams[0].ended && e.streams[1].ended) || e.worker.empty());
    if (found != watchers_.end() && !more) {
      ++it;
      continue;
    }
    if (found != watchers_.end()) {
      calls.push_back(std::move(found->second.wake));
      watchers_.erase(found);
    }
    it = watching_.erase(it);
  }
}

/// The streams are complete, and nobody who watches them will be woken again.
output_files::live_entries::iterator output_files::forget_settled(live_entries::iterator which) {
  close_files(which->first);
  if (settled_.insert(which->first).second) settled_order_.push_back(which->first);
  if (settled_order_.size() > most_settled) {
    settled_.erase(settled_order_.front());
    settled_order_.pop_front();
  }
  return live_.erase(which);
}

std::uint64_t output_files::watch(const operation_id& id, std::uint64_t seen_stdout, std::uint64_t seen_stderr,
                                  std::function<void()> wake_up) {
  std::vector<std::function<void()>> calls;
  std::uint64_t ticket = 0;
  {
    std::lock_guard lock(mutex_);
    ticket = next_ticket_++;
    watchers_[ticket] = {id, {seen_stdout, seen_stderr}, std::move(wake_up)};
    watching_.emplace(id, ticket);
    const auto it = live_.find(id);
    if (it != live_.end())
      wake(id, opened(id, it->second), calls);
    else if (settled_.contains(id)) // between the read of its watcher and now: nothing else would wake that
      wake(id, entry{}, calls);
  }
  for (const auto& call : calls) call();
  return ticket;
}

void output_files::forget(std::uint64_t ticket) {
  std::lock_guard lock(mutex_);
  const auto found = watchers_.find(ticket);
  if (found == watchers_.end()) return;
  const auto [begin, end] = watching_.equal_range(found->second.id);
  for (auto it = begin; it != end; ++it) {
    if (it->second != ticket) continue;
    watching_.erase(it);
    break;
  }
  watchers_.erase(found);
}

} // namespace quell::controller
