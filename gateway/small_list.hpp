// Pages of a list in memory (workers, tokens), whose entries have unique keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/request.hpp"

namespace quell::controller::http {

enum class list_order : std::uint8_t { ascending, descending };

struct small_list {
  std::string what; ///< the name of the list: the cursor of another list is refused
  std::uint32_t limit = 100;
  list_order order = list_order::ascending; ///< of the keys
  std::optional<std::string> after;         ///< continue after this key
};

/// Reads `limit`, `order` and `cursor`, and accepts nothing else. Throws the problem.
small_list read_small_list(const request& of, std::string what, list_order by_default);
/// The cursor of the page after `last_key`.
std::string next_cursor(const small_list& list, const std::string& last_key);

/// Reduces `all` to the page that `list` requests, in its order. Returns the cursor of the next page if there is one.
template <class T, class Key>
std::optional<std::string> cut_page(std::vector<T>& all, const small_list& list, Key key) {
  const bool descends = list.order == list_order::descending;
  std::sort(all.begin(), all.end(),
            [&](const T& a, const T& b) { return descends ? key(b) < key(a) : key(a) < key(b); });
  if (list.after)
    std::erase_if(all, [&](const T& one) { return descends ? key(one) >= *list.after : key(one) <= *list.after; });
  if (all.size() <= list.limit) return std::nullopt;
  all.erase(all.begin() + list.limit, all.end());
  return next_cursor(list, key(all.back()));
}

} // namespace quell::controller::http
