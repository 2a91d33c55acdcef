// `quell say`: one message, and the turn that answers it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/backoff.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/lookup.hpp"
#include "cli/printed_turn.hpp"
#include "cli/turn_stream.hpp"
#include "protocol/id.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

answer<std::string> text_of_input() {
  std::string text;
  std::array<char, 16 * 1024> bytes{};
  while (text.size() <= most_message_text) {
    const auto n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return refuse(local_code::usage, std::string("standard input cannot be read: ") + std::strerror(errno));
    text.append(bytes.data(), static_cast<std::size_t>(n));
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

answer<std::string> text_of_words(const strings& words) {
  if (words.size() == 1 && words.front() == "-") return text_of_input();
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// `read,list`; "none" = no tools.
json tools_of(const std::string& typed) {
  auto names = json::array();
  if (typed == "none") return names;
  for (std::size_t at = 0; at <= typed.size();) {
    const auto comma = std::min(typed.find(',', at), typed.size());
    names.push_back(typed.substr(at, comma - at));
    at = comma + 1;
  }
  return names;
}

/// Posts without waiting for the turn; a repeat after a lost answer is the same message.
exit_code post_and_leave(session& s, api& controller, json body, milliseconds reconnect) {
  body["id"] = "cli:" + operation_id::fresh().text();
  backoff contact(reconnect);
  bool may_exist = false;
  while (true) {
    auto decision = controller.post("/v1/messages", body);
    if (decision) {
      const auto turn = text_of(member(*decision, "turn"), "id");
      if (s.json())
        s.print_document(*decision);
      else if (!turn.empty())
        s.print(turn + "\n");
      else
        s.warn("no turn: " + text_of(*decision, "decision") + " (" + text_of(*decision, "why") + ")");
      return exit_code::done;
    }
    const auto& p = decision.error();
    const bool is_transient = p.status == 0 || p.status == 429 || p.status >= 502;
    may_exist = may_exist || p.sent;
    const auto pause =
        is_transient && may_exist ? contact.lost(std::chrono::steady_clock::now()) : std::optional<milliseconds>();
    if (!pause) {
      s.say(p);
      return exit_of_run_problem(p);
    }
    bool over = false;
    s.loop.after(*pause, [&over] { over = true; });
    s.loop.run_until([&over] { return over; });
    controller.find_again();
  }
}

} // namespace

exit_code execute(session& s, const say_options& o) {
  const auto fail = [&s](const problem& p) {
    s.say(p);
    return exit_of_run_problem(p);
  };
  auto text = text_of_words(o.words);
  if (!text) return fail(text.error());
  if (text->find_first_not_of(" \t\r\n") == std::string::npos)
    return fail(local_problem(local_code::usage, "there is nothing to say: the text is empty"));
  if (text->size() > most_message_text)
    return fail(
        local_problem(local_code::usage, "the text is larger than 64 KiB: put it into a file that the agent can read"));
  auto controller = s.connect();
  if (!controller) return fail(controller.error());
  auto body = message_body(conversation_scope(o.scope, s.globals.where, s.env), *text, o.agent, s.env, o.during_turn);
  if (o.model) body["model"] = *o.model;
  if (o.tools) body["tools"] = tools_of(*o.tools);
  if (o.parent) {
    auto parent = find_operation(**controller, *o.parent);
    if (!parent) return fail(parent.error());
    body["parent"] = std::move(*parent);
  }
  if (o.no_wait) return post_and_leave(s, **controller, std::move(body), o.reconnect);
  return printed_turn(s, **controller, std::move(body), o.reconnect, tell_aside::on_terminal).execute();
}

} // namespace quell::cli
