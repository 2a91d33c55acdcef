// The tools list and search. Patterns are RE2's, so that every pattern takes at most linear time.
#include <algorithm>
#include <fcntl.h>
#include <fnmatch.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include "protocol/failure_code.hpp"
#include "protocol/utf8.hpp"
#include "worker/tools/input_reader.hpp"
#include "worker/tools/tool.hpp"
#include "worker/tools/walk.hpp"
#include "worker/tools/workspace.hpp"

namespace quell::worker::tools {

using nlohmann::json;

namespace {

constexpr std::size_t deepest = 32;
constexpr std::size_t shown_line_bytes = 300;

const char* name_of_type(char type) {
  switch (type) {
  case 'd':
    return "folder";
  case 'l':
    return "link";
  case 'f':
    return "file";
  default:
    return "other";
  }
}

bool fits(const std::string& glob, const found_entry& e) {
  return glob.empty() || ::fnmatch(glob.c_str(), e.name.c_str(), 0) == 0 ||
         ::fnmatch(glob.c_str(), e.path.c_str(), FNM_PATHNAME) == 0;
}

std::string shortened(std::string_view line) {
  const auto shown = utf8_prefix(line, shown_line_bytes);
  return std::string(shown) + (shown.size() < line.size() ? "…" : "");
}

/// Appends the matching lines of one text; false when the limit is reached.
bool search_text(const std::string& text, const std::string& path, const RE2& pattern, std::size_t limit, json& found) {
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const auto end = std::min(text.find('\n', at), text.size());
    const re2::StringPiece line(text.data() + at, end - at);
    if (RE2::PartialMatch(line, pattern)) {
      if (found.size() >= limit) return false;
      found.push_back({{"path", path}, {"line", number}, {"text", shortened({line.data(), line.size()})}});
    }
    at = end + 1;
  }
  return true;
}

} // namespace

result<json> list_folder(const workspace& where, const json& input, const tool_limits& limits) {
  input_reader in(input);
  const auto path = in.text_or("path", ".");
  const auto depth = in.number("depth", 1, 1, deepest);
  const auto glob = in.text_or("glob", "");
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  json entries = json::array();
  bool truncated = false;
  const auto walked = walk(where, path, depth, [&](const found_entry& e) {
    if (!fits(glob, e) || !is_utf8(e.path)) return walk_on::yes;
    if (entries.size() >= limits.entries) {
      truncated = true;
      return walk_on::stop;
    }
    json entry{{"path", e.path}, {"type", name_of_type(e.type)}};
    if (e.type == 'f') entry["bytes"] = e.size;
    entries.push_back(std::move(entry));
    return walk_on::yes;
  });
  if (!walked) return tl::unexpected(walked.error());
  return json{{"path", where.shown(path)}, {"entries", std::move(entries)}, {"truncated", truncated}};
}

result<json> search_files(const workspace& where, const json& input, const tool_limits& limits) {
  input_reader in(input);
  const auto expression = in.text("pattern");
  const auto path = in.text_or("path", ".");
  const auto glob = in.text_or("glob", "");
  const bool ignore_case = in.flag("ignore_case", false);
  const auto most = in.number("limit", 100, 1, limits.entries);
  if (auto wrong = in.trouble()) return tl::unexpected(*wrong);
  RE2::Options options;
  options.set_case_sensitive(!ignore_case);
  options.set_log_errors(false);
  const RE2 pattern(expression, options);
  if (!pattern.ok())
    return failure(failure_code::invalid_input, "`pattern` is not a regular expression: " + pattern.error());
  json found = json::array();
  bool truncated = false;
  std::size_t searched = 0, passed_by = 0;
  const auto walked = walk(where, path, deepest, [&](const found_entry& e) {
    if (e.type != 'f' || !fits(glob, e)) return walk_on::yes;
    const auto file = where.open_at(e.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    const auto text = file ? read_all(*file, e.path, limits.file_bytes) : tl::unexpected(file.error());
    if (!text || !is_utf8(*text) || !is_utf8(e.path)) {
      ++passed_by;
      return walk_on::yes;
    }
    ++searched;
    truncated = !search_text(*text, e.path, pattern, most, found);
    return truncated ? walk_on::stop : walk_on::yes;
  });
  if (!walked) return tl::unexpected(walked.error());
  return json{{"matches", std::move(found)},
              {"files_searched", searched},
              {"files_passed_by", passed_by},
              {"truncated", truncated}};
}

} // namespace quell::worker::tools
