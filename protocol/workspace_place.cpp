// Writes and reads the text form of a place in a workspace.
#include "protocol/workspace_place.hpp"

#include <algorithm>
#include <charconv>

namespace quell {
namespace {

constexpr std::string_view prefix = "workspace:";
constexpr std::size_t most_name = 200, most_shown = 150;

bool is_name(std::string_view name) {
  constexpr std::string_view others = "._-:@+=~%";
  return !name.empty() && name.size() <= most_name && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  others.find(c) != std::string_view::npos;
         });
}

tl::unexpected<fault> bad_place(const std::string& what) {
  return failure("bad_workspace", "the task's workspace " + what + "; are controller and worker of one version?");
}

} // namespace

std::string workspace_place::text() const {
  std::string out = std::string(prefix) + name;
  char mark = '?';
  const auto put = [&](const std::string& part) {
    out += mark + part;
    mark = '&';
  };
  if (must_exist) put("exists");
  if (remove) put("remove");
  if (quota_bytes > 0) put("quota=" + std::to_string(quota_bytes));
  if (keep.count() > 0) put("keep=" + std::to_string(keep.count()));
  if (!below.empty()) put("in=" + below);
  return out;
}

std::string workspace_place::unplaced(const std::string& below) {
  workspace_place nowhere;
  nowhere.below = below;
  return nowhere.text();
}

std::string workspace_place::below_in(std::string_view text) {
  if (!text.starts_with(prefix)) return {};
  text = text.substr(std::min(text.find('?'), text.size()));
  const auto at = text.find("in=");
  return at == std::string_view::npos ? std::string() : std::string(text.substr(at + 3));
}

std::optional<result<workspace_place>> workspace_place::parse(std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  workspace_place out;
  const auto end = text.find('?');
  out.name = std::string(text.substr(0, end));
  if (!is_name(out.name)) return bad_place("has a bad name");
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  while (!text.empty()) {
    if (text.starts_with("in=")) {
      out.below = std::string(text.substr(3));
      break;
    }
    const auto next = text.find('&');
    const auto part = text.substr(0, next);
    text = next == std::string_view::npos ? std::string_view{} : text.substr(next + 1);
    const auto number = [&](std::string_view key, auto& value) {
      if (!part.starts_with(key)) return false;
      const auto* last = part.data() + part.size();
      const auto [at, error] = std::from_chars(part.data() + key.size(), last, value);
      return error == std::errc{} && at == last;
    };
    std::uint64_t keep = 0;
    if (part == "exists") {
      out.must_exist = true;
    } else if (part == "remove") {
      out.remove = true;
    } else if (number("keep=", keep) && keep < (1ULL << 53)) {
      out.keep = milliseconds{static_cast<std::int64_t>(keep)};
    } else if (!number("quota=", out.quota_bytes)) {
      return bad_place("asks for something that is not known here: " + std::string(part.substr(0, 64)));
    }
  }
  return out;
}

std::string workspace_name(const scope_path& scope, const std::string& mark) {
  std::string name = "w-" + scope.text().substr(0, most_shown - 2);
  std::replace(name.begin(), name.end(), '/', '%'); // no scope has this character
  return name + '~' + mark.substr(0, most_name - most_shown - 1);
}

bool is_same_directory(const std::optional<std::string>& a, const std::optional<std::string>& b) {
  const auto name_in = [](const std::optional<std::string>& text) -> std::string_view {
    if (!text || !text->starts_with(prefix)) return {};
    return std::string_view(*text).substr(0, text->find('?'));
  };
  const auto one = name_in(a), other = name_in(b);
  return one.empty() && other.empty() ? a == b : one == other;
}

} // namespace quell
