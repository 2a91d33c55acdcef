// Pages of a list that is in memory: workers and tokens, each with a key of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/gateway/request.hpp"

namespace quell::controller::http {

struct small_list {
  std::string what; ///< whose list it is: a cursor of another is refused
  std::uint32_t limit = 100;
  bool backward = false;            ///< from the largest key on
  std::optional<std::string> after; ///< continue behind this key
};

/// `limit`, `order` and `cursor`, and nothing else. `backward`: the order where none is asked for. Throws the problem.
small_list read_small_list(const request& of, std::string what, bool backward);
/// The cursor of the page behind `last_key`.
std::string next_cursor(const small_list& list, const std::string& last_key);

/// Leaves in `all` the page that `list` asks for, in its order. The cursor of the next one if there is more.
template <class T, class Key>
std::optional<std::string> cut_page(std::vector<T>& all, const small_list& list, Key key) {
  std::sort(all.begin(), all.end(),
            [&](const T& a, const T& b) { return list.backward ? key(b) < key(a) : key(a) < key(b); });
  if (list.after)
    std::erase_if(all, [&](const T& one) { return list.backward ? key(one) >= *list.after : key(one) <= *list.after; });
  if (all.size() <= list.limit) return std::nullopt;
  all.erase(all.begin() + list.limit, all.end());
  return next_cursor(list, key(all.back()));
}

} // namespace quell::controller::http
