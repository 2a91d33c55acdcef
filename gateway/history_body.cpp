// Each action has the fields that it needs, and no other.
#include "gateway/history_body.hpp"

#include <algorithm>
#include <array>

#include "gateway/body.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t max_new_text_bytes = 64 * 1024;
constexpr auto actions = std::to_array<const char*>({"clear", "compact", "edit", "delete", "regenerate", "fork"});

/// The seq or the id of the newest message that the caller saw.
void read_expected(body_reader& fields, turns::history_order& order) {
  const auto* given = fields.take("expect");
  if (!given) return;
  if (given->is_number_unsigned() && given->get<std::uint64_t>() <= max_seq) {
    order.expect_seq = given->get<std::uint64_t>();
  } else if (given->is_string()) {
    if (const auto id = message_id::parse(given->get_ref<const std::string&>()))
      order.expect_id = *id;
    else
      fields.complain("expect", "must be the seq or the id of the newest message that you saw", error_code::bad_id);
  } else {
    fields.complain("expect", "must be the seq (a number) or the id (a string) of the newest message that you saw");
  }
}

} // namespace

const char* name_of_change(turns::history_order::action what) { return actions.at(static_cast<std::size_t>(what)); }

tl::expected<turns::history_order, problem> read_history_change(std::string_view text) {
  using action = turns::history_order::action;
  auto body = parse_body(text);
  if (!body) return tl::unexpected(body.error());
  std::vector<field_error> errors;
  body_reader fields(*body, "", errors);
  turns::history_order order;
  if (const auto scope = fields.scope("scope"))
    order.scope = *scope;
  else if (!fields.has("scope"))
    fields.complain("scope", "is missing: say which conversation this changes");
  const auto named = fields.text("action", 1, 16);
  const auto at = named ? std::find(actions.begin(), actions.end(), *named) : actions.end();
  if (at != actions.end())
    order.what = static_cast<action>(at - actions.begin());
  else if (named || !fields.has("action"))
    fields.complain("action", "must be one of clear, compact, edit, delete, regenerate, fork");
  read_expected(fields, order);
  const bool names_message = order.what == action::edit || order.what == action::remove;
  if (names_message) {
    order.message = fields.id<message_id>("id");
    if (!fields.has("id")) fields.complain("id", "is missing: which message, as GET /v1/messages names it");
  }
  if (order.what == action::edit) {
    if (const auto edited = fields.text("text", 1, max_new_text_bytes)) {
      order.text = *edited;
      if (order.text.size() > max_new_text_bytes) fields.complain("text", "is larger than 64 KiB");
    } else if (!fields.has("text")) {
      fields.complain("text", "is missing");
    }
  }
  if (order.what == action::fork) {
    order.to = fields.scope("to");
    if (!fields.has("to")) fields.complain("to", "is missing: the scope that gets the copy");
    if (order.to && *order.to == order.scope) fields.complain("to", "must be another scope");
  }
  fields.finish();
  if (!errors.empty()) return tl::unexpected(from_errors(std::move(errors)));
  return order;
}

} // namespace quell::controller::http
