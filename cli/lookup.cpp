// Resolves short ids page by page.
#include "cli/lookup.hpp"

#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "cli/short_id.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

/// The only id in the list with this ending, "" if none.
answer<std::string> find_in(api& controller, const std::string& path, const char* key, const std::string& typed) {
  std::vector<std::string> found;
  std::string cursor;
  while (true) {
    auto page = controller.get(with_query(path, {{"cursor", cursor}}));
    if (!page) return tl::unexpected(page.error());
    std::vector<std::string> ids;
    for (const auto& item : member(*page, key)) ids.push_back(text_of(item, "id"));
    for (auto& id : matching_ids(ids, typed)) found.push_back(std::move(id));
    const std::string next = text_of(*page, "next_cursor");
    if (next.empty() || next == cursor || found.size() > 20) break;
    cursor = next;
  }
  if (found.empty()) return std::string{};
  if (found.size() == 1) return found.front();
  std::string candidates;
  for (const auto& id : found) candidates += (candidates.empty() ? "" : ", ") + id;
  return refuse(local_code::ambiguous, "'" + typed + "' is the end of " + std::to_string(found.size()) +
                                           " ids: " + candidates + ". Type more of it.");
}

answer<std::string> find(api& controller, const std::string& typed, const char* kind, const char* key,
                         const std::vector<std::string>& paths) {
  if (is_whole_id(typed)) return typed;
  if (!is_id_tail(typed))
    return refuse(local_code::usage,
                  "'" + typed + "' is not an id: type all of it, or at least its last 4 digits (0-9, a-f)");
  for (const auto& path : paths) {
    auto found = find_in(controller, path, key, typed);
    if (!found || !found->empty()) return found;
  }
  return refuse(local_code::nothing, std::string("no ") + kind + " ends in '" + typed + "'");
}

} // namespace

answer<std::string> find_operation(api& controller, const std::string& typed) {
  return find(controller, typed, "operation", "operations",
              {"/v1/operations?status=live&limit=1000", "/v1/operations?status=ended&limit=1000"});
}

answer<std::string> find_cancel(api& controller, const std::string& typed) {
  return find(controller, typed, "cancel", "cancels", {"/v1/cancels?status=open&limit=1000", "/v1/cancels?limit=1000"});
}

answer<std::string> find_token(api& controller, const std::string& typed) {
  return find(controller, typed, "token", "tokens", {"/v1/tokens?limit=1000"});
}

answer<std::string> find_standing_approval(api& controller, const std::string& typed) {
  return find(controller, typed, "standing approval", "rules", {"/v1/approvals/rules?limit=1000"});
}

answer<std::vector<std::string>> find_operations(api& controller, const std::vector<std::string>& typed) {
  std::vector<std::string> out;
  for (const auto& word : typed) {
    auto found = find_operation(controller, word);
    if (!found) return tl::unexpected(found.error());
    out.push_back(std::move(*found));
  }
  return out;
}

} // namespace quell::cli
