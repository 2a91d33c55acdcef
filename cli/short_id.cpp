// Short ids.
#include "cli/short_id.hpp"

#include <algorithm>

#include "protocol/id.hpp"

namespace quell::cli {
namespace {

std::string without_dashes(std::string_view text) {
  std::string out(text);
  std::erase(out, '-');
  return out;
}

} // namespace

std::string short_id(std::string_view id) { return std::string(id.size() > 8 ? id.substr(id.size() - 8) : id); }

bool is_id_tail(std::string_view text) {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; };
  return text.size() >= 4 && text.size() <= 36 && std::all_of(text.begin(), text.end(), hex) &&
         without_dashes(text).size() >= 4;
}

bool is_whole_id(std::string_view text) { return parse_uuid7(text).has_value(); }

std::vector<std::string> matching_ids(const std::vector<std::string>& ids, std::string_view tail) {
  std::vector<std::string> found;
  const std::string bare = without_dashes(tail);
  for (const auto& id : ids)
    if (without_dashes(id).ends_with(bare) && std::find(found.begin(), found.end(), id) == found.end())
      found.push_back(id);
  return found;
}

} // namespace quell::cli
