// Times of output: marks in the file `times` of an operation's folder, one line each: stream, offset, milliseconds
// since 1970. A stream that came within a second needs none: its file's own time is enough.
#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <memory>

#include "quelld/bulk/output_files.hpp"

namespace quell::controller {

namespace {

using namespace std::chrono_literals;

constexpr const char* times_name = "/times";
constexpr milliseconds finest = 1000ms;
constexpr int marks_per_age = 10'000; // the first hours are marked each second, a month every four minutes
constexpr std::size_t most_marks = 1'000'000;

struct closer {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, closer>;

wall_time changed_at(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return wall_time{milliseconds{found.st_mtim.tv_sec * 1000LL + found.st_mtim.tv_nsec / 1'000'000}};
}

} // namespace

void output_files::note_time(const operation_id& id, entry& e, mark m) const {
  const auto i = static_cast<std::size_t>(m.which);
  if (!e.first[i]) {
    e.first[i] = m;
    e.marked_at[i] = m.at;
    return;
  }
  const auto age = m.at - e.first[i]->at;
  if (m.at - e.marked_at[i] < std::max<milliseconds>(finest, age / marks_per_age)) return;
  const bool is_second = e.marked_at[i] == e.first[i]->at;
  e.marked_at[i] = m.at;
  const file out(std::fopen((folder(id) + times_name).c_str(), "ae"));
  if (!out) return; // only the file's own time is known then
  const auto write = [&](const mark& one) {
    std::fprintf(out.get(), "%d %" PRIu64 " %" PRId64 "\n", static_cast<int>(one.which), one.offset,
                 static_cast<std::int64_t>(one.at.time_since_epoch().count()));
  };
  if (is_second) write(*e.first[i]);
  write(m);
}

/// Restores the pieces of an earlier life from segments and marks, in the order of arrival to about a second.
void output_files::order_pieces(const std::string& folder, entry& e) {
  std::array<std::vector<mark>, 2> marks;
  if (const file in(std::fopen((folder + times_name).c_str(), "re")); in) {
    int which = 0;
    std::uint64_t offset = 0;
    std::int64_t ms = 0;
    for (std::size_t n = 0; n < most_marks; ++n) {
      if (std::fscanf(in.get(), "%d %" SCNu64 " %" SCNd64, &which, &offset, &ms) != 3) break;
      if (which == 0 || which == 1)
        marks[static_cast<std::size_t>(which)].push_back(
            {static_cast<stream>(which), offset, wall_time{milliseconds{ms}}});
    }
  }
  for (const auto which : {stream::out, stream::err}) {
    const auto i = static_cast<std::size_t>(which);
    auto& known = marks[i];
    std::stable_sort(known.begin(), known.end(), [](const mark& a, const mark& b) { return a.offset < b.offset; });
    for (const auto& s : e.streams[i].segments) {
      if (s.length == 0) continue;
      const auto end = s.start + s.length;
      char name[48];
      std::snprintf(name, sizeof name, "/%s.%016" PRIx64, std::string(name_of(which)).c_str(), s.start);
      auto next = std::upper_bound(known.begin(), known.end(), s.start,
                                   [](std::uint64_t offset, const mark& m) { return offset < m.offset; });
      auto at = next == known.begin() ? changed_at(folder + name) : std::prev(next)->at;
      if (!e.first[i]) e.first[i] = mark{which, s.start, at};
      for (auto from = s.start; from < end;) {
        const auto to = next == known.end() ? end : std::min(next->offset, end);
        if (to > from) e.pieces.push_back({which, from, to - from, at});
        from = to;
        if (next != known.end()) at = (next++)->at;
      }
      e.marked_at[i] = at;
    }
  }
  std::stable_sort(e.pieces.begin(), e.pieces.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
}

} // namespace quell::controller
