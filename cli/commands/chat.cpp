// `quell chat`: a conversation, with an editable line on a terminal, otherwise one message per line.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "cli/chat_room.hpp"
#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/printed_turn.hpp"
#include "cli/turn_stream.hpp"
#include "cli/url.hpp"

namespace quell::cli {
namespace {

using nlohmann::json;

constexpr const char* shown_messages = "10";

/// Reads the next line of standard input, without its end; false at the end of the input.
class input_lines {
 public:
  bool next(std::string& line) {
    while (true) {
      const auto end = rest_.find('\n');
      if (end != std::string::npos) {
        line = rest_.substr(0, end);
        rest_.erase(0, end + 1);
        return true;
      }
      std::array<char, 16 * 1024> bytes{};
      const auto n = ended_ ? 0 : ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0 || rest_.size() > 16 * most_message_text) {
        ended_ = true;
        line = std::move(rest_);
        rest_.clear();
        return !line.empty();
      }
      rest_.append(bytes.data(), static_cast<std::size_t>(n));
    }
  }

 private:
  std::string rest_;
  bool ended_ = false;
};

/// Each line is a message, answered before the next one is read. Continues after a failed turn, but not after a cancel
/// or a failure of quell itself.
exit_code line_by_line(session& s, api& controller, const chat_options& o, const std::string& scope) {
  input_lines input;
  exit_code code = exit_code::done;
  for (std::string line; input.next(line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    if (line.size() > most_message_text) {
      s.say(local_problem(local_code::usage, "a line is larger than 64 KiB: it was not sent"));
      return exit_code::run_failed;
    }
    const exit_code one = printed_turn(s, controller, message_body(scope, line, o.agent, s.env, o.during_turn),
                                       o.reconnect, tell_aside::always)
                              .execute();
    if (one != exit_code::done) code = one;
    if (one == exit_code::run_cancelled || one == exit_code::run_failed) return one;
  }
  return code;
}

} // namespace

exit_code execute(session& s, const chat_options& o) {
  const auto fail = [&s](const problem& p) {
    s.say(p);
    return exit_of_run_problem(p);
  };
  auto connected = s.connect();
  if (!connected) return fail(connected.error());
  api& controller = **connected;
  const auto scope = conversation_scope(o.scope, s.globals.where, s.env);
  const bool is_dumb = s.env("TERM").value_or("dumb") == "dumb";
  if (s.json() || is_dumb || ::isatty(STDIN_FILENO) != 1 || !s.term.out_is_terminal)
    return line_by_line(s, controller, o, scope);
  const auto path = with_query("/v1/messages", {{"scope", scope}, {"order", "desc"}, {"limit", shown_messages}});
  auto before = controller.get(path);
  if (!before) return fail(before.error());
  auto messages = member(*before, "messages");
  if (messages.is_array()) std::reverse(messages.begin(), messages.end());
  const auto directories = state_directories(s.globals.where, s.env);
  chat_room room(s, controller, o, scope, directories.front() + "/chat_history");
  if (!room.is_usable()) return line_by_line(s, controller, o, scope);
  return room.execute(messages);
}

} // namespace quell::cli
