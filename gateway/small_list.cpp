// Cursors of lists in memory: the list, the order and the last key, as base64url.
#include "gateway/small_list.hpp"

#include "gateway/query_reader.hpp"
#include "protocol/base64.hpp"
#include "protocol/encoding.hpp"

namespace quell::controller::http {

namespace {

std::string prefix_of(const small_list& list) {
  return list.what + (list.order == list_order::descending ? " d " : " a ");
}

} // namespace

small_list read_small_list(const request& of, std::string what, list_order by_default) {
  query_reader query(of);
  small_list list{std::move(what), query.limit(), by_default, {}};
  const auto order = query.one("order");
  if (order && *order != "asc" && *order != "desc") query.complain("order", "must be asc or desc");
  if (order) list.order = *order == "desc" ? list_order::descending : list_order::ascending;
  if (const auto cursor = query.one("cursor")) {
    const auto plain = from_base64url(*cursor);
    const auto prefix = prefix_of(list);
    if (plain && plain->starts_with(prefix) && plain->size() > prefix.size())
      list.after = plain->substr(prefix.size());
    else
      query.complain("cursor",
                     "is not a cursor of this listing; use next_cursor of an answer with the same parameters");
  }
  query.finish();
  return list;
}

std::string next_cursor(const small_list& list, const std::string& last_key) {
  return base64url(prefix_of(list) + last_key);
}

} // namespace quell::controller::http
