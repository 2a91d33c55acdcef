// Counts authors; one with two clients is one.
#include "actors/voice/presence.hpp"

#include <set>
#include <string_view>

namespace quell::controller::voice {

std::uint32_t presence::people_in(const scope_path& scope) const {
  std::set<std::string_view> authors;
  for (const auto& one : all_)
    if (one.scope.is_at_or_below(scope)) authors.insert(one.author);
  return static_cast<std::uint32_t>(authors.size());
}

} // namespace quell::controller::voice
