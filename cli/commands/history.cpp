// `quell history`: the messages of a conversation, and changes of it.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "cli/columns.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"
#include "cli/turn_view.hpp"
#include "cli/url.hpp"

namespace quell::cli {

namespace {

using nlohmann::json;

constexpr std::size_t most_shown = 100;

/// The newest messages, oldest first.
answer<json> newest(api& controller, const std::string& scope, std::uint32_t limit) {
  auto page = controller.get(
      with_query("/v1/messages", {{"scope", scope}, {"order", "desc"}, {"limit", std::to_string(limit)}}));
  if (!page) return tl::unexpected(page.error());
  auto messages = member(*page, "messages");
  if (messages.is_array()) std::reverse(messages.begin(), messages.end());
  return messages;
}

/// The whole id of a message from the end of it.
answer<std::string> find_message(api& controller, const history_options& o) {
  if (o.id.size() >= 36) return o.id;
  const auto messages = newest(controller, o.scope, 1000);
  if (!messages) return tl::unexpected(messages.error());
  std::vector<std::string> ids;
  for (const auto& one : *messages) ids.push_back(text_of(one, "message"));
  const auto found = matching_ids(ids, o.id);
  if (found.size() == 1) return found.front();
  return tl::unexpected(
      local_problem(local_code::usage,
                    found.empty() ? "no message ends with " + o.id + ": quell history show " + o.scope + " lists them"
                                  : "several messages end with " + o.id + ": give more of the id"));
}

exit_code show(session& s, api& controller, const history_options& o) {
  const auto messages = newest(controller, o.scope, o.limit);
  if (!messages) return s.fail(messages.error());
  if (s.json()) {
    s.print_document({{"messages", *messages}});
    return exit_code::done;
  }
  table rows({"SEQ>", "MESSAGE", "ROLE", "TEXT"});
  for (const auto& one : *messages) {
    std::string text = one_line(text_of(one, "text"));
    for (const auto& call : member(one, "tool_calls")) text += " [" + text_of(call, "name") + "]";
    for (const auto& result : member(one, "results")) text += (text.empty() ? "" : ", ") + text_of(result, "name");
    if (member(member(one, "summary"), "clear") == true) text = "(cleared)";
    if (member(one, "discarded") == true) text = "(gone) " + text;
    rows.add({std::to_string(number_of(one, "seq")), short_id(text_of(one, "message")), text_of(one, "role"),
              cut(printable(text), most_shown, s.term.characters)});
  }
  if (rows.empty())
    s.hint("there is no conversation in scope " + printable(o.scope));
  else
    s.print(rows.text(s.term.columns, s.term.characters));
  return exit_code::done;
}

/// Waits for the operation that a change has started; its exit code.
exit_code wait_for(session& s, api& controller, const std::string& id) {
  while (true) {
    const auto now = controller.get("/v1/operations/" + id + "?wait=ended&wait_ms=30000");
    if (!now) return s.fail(now.error());
    const auto status = text_of(*now, "status");
    if (status == "completed") return exit_code::done;
    if (status != "failed" && status != "cancelled") continue;
    const auto& error = member(*now, "error");
    s.warn(status == "cancelled" ? "cancelled: no summary was written" : "failed: " + text_of(error, "message"));
    return exit_code::refused;
  }
}

std::string done_text(const history_options& o, const json& done) {
  const auto messages = std::to_string(number_of(done, "messages"));
  if (o.action == "clear") return "nothing of before is read any more";
  if (o.action == "compact") return messages + " messages gave way to a summary";
  if (o.action == "retry") return "asked again: turn " + short_id(text_of(done, "operation"));
  if (o.action == "fork") return messages + " messages copied to scope " + o.to;
  if (o.action == "edit")
    return messages + " messages gone; the new one is " + short_id(text_of(done, "message")) +
           ": quell history retry " + o.scope + " asks it";
  return messages + " messages gone";
}

} // namespace

exit_code execute(session& s, const history_options& o) {
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  if (o.action == "show") return show(s, **controller, o);
  json body{{"scope", o.scope}, {"action", o.action == "retry" ? "regenerate" : o.action}};
  if (!o.to.empty()) body["to"] = o.to;
  if (!o.id.empty()) {
    const auto id = find_message(**controller, o);
    if (!id) return s.fail(id.error());
    body["id"] = *id;
  }
  if (o.action == "edit") {
    std::string text;
    for (const auto& word : o.words) text += (text.empty() ? "" : " ") + word;
    body["text"] = text;
  }
  if (o.expect) {
    const bool is_seq = o.expect->find_first_not_of("0123456789") == std::string::npos && o.expect->size() < 16;
    body["expect"] = is_seq ? json(std::stoull(*o.expect)) : json(*o.expect);
  }
  const auto done = (*controller)->post("/v1/history", body);
  if (!done) return s.fail(done.error());
  if (o.action == "compact")
    if (const exit_code code = wait_for(s, **controller, text_of(*done, "operation")); code != exit_code::done)
      return code;
  if (s.json())
    s.print_document(*done);
  else
    s.print(done_text(o, *done) + "\n");
  return exit_code::done;
}

} // namespace quell::cli
