// `quell acp`: an ACP agent on standard input and output. An editor's sessions are conversations of quell, its prompts
// are turns, its modes are the agents that may answer.
//
// It lives as long as its editor. Every prompt that is open at the end is cancelled, with everything below its turn.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/acp/prompt.hpp"
#include "cli/exit_code.hpp"
#include "cli/mcp/rpc.hpp"
#include "cli/mcp/stdio.hpp"
#include "cli/session.hpp"

namespace quell::cli::acp {

// Codes of errors; not_found is ACP's own.
inline constexpr int not_found = -32002;
inline constexpr int internal_error = -32603;

class server {
 public:
  /// New sessions lie below the scope `below`; `agent` is their first mode, if it is given.
  server(session& s, api& controller, std::string below, std::optional<std::string> agent, milliseconds reconnect);
  ~server();

  /// Runs until the editor leaves or a signal comes. Returns the exit code.
  exit_code serve();

 private:
  struct open_session {
    std::string scope, mode;
    std::unique_ptr<prompt> work; ///< null: no prompt is open
    json request;                 ///< the id of that prompt
    bool is_closed = false;       ///< leaves with its prompt
  };
  struct open_question {
    std::string session, key; ///< what it is about
    std::function<void(const json& result)> answered;
  };

  void take_line(std::string_view line);
  bool is_patient_with(std::size_t bytes);
  void read_on();
  void take_reply(const json& whole);
  void take_request(mcp::message m);
  void take_notification(const mcp::message& m);
  void cancel_held(const std::function<bool(const mcp::message&)>& fits);
  void cancel_held_of(const json& params);
  void reply(const json& id, json result) { channel_->send(mcp::result_line(id, std::move(result))); }
  void refuse(const json& id, int code, std::string_view why) { channel_->send(mcp::error_line(id, code, why)); }
  void notify(const char* method, json params);

  // --- sessions (server_sessions.cpp)
  using then = std::function<void(json modes)>;
  void with_modes(const json& id, std::string current, then next);
  void begin_session(const json& id);
  enum class reopened : std::uint8_t { with_history, as_it_is };
  void open_again(const mcp::message& m, reopened how);
  void replay(const json& id, const std::string& session, const std::string& cursor, json modes, shown_past past);
  void close_session(const mcp::message& m);
  void set_mode(const mcp::message& m);
  open_session* find(const json& params);
  /// Null, and `id` is answered: no more of them are taken.
  open_session* enter(const json& id, const std::string& scope, const std::string& mode);
  /// Refuses `id` if too much is under way.
  bool is_busy(const json& id);
  void get(const std::string& path, const json& id, std::function<void(const json& answer)> then);

  // --- prompts (server_prompts.cpp)
  void begin_prompt(mcp::message m);
  void ask(const std::string& session, const std::string& key, editor_request how, json params,
           std::function<void(const json&)> answered);
  void take_back(const std::string& session, const std::string& key);
  void end_prompt(const std::string& session);
  void drop_questions(const std::function<bool(const open_question&)>& fits);
  void cancel_all(const char* why);
  bool has_open_prompts() const;

  session& s_;
  api& api_;
  const std::string below_;
  const std::optional<std::string> agent_;
  const milliseconds reconnect_;
  std::optional<mcp::stdio_channel> channel_;
  std::map<std::string, open_session> sessions_;
  std::map<std::int64_t, open_question> questions_; ///< by the id of our request
  std::vector<std::unique_ptr<prompt>> over_;       ///< can still be on the stack, or linger
  std::set<event_loop::handle> calls_;              ///< those that wait for the controller
  std::int64_t next_request_ = 1;
  editor_shows editor_ = editor_shows::options;
  std::deque<mcp::message> held_;   ///< requests, until the editor reads answers again
  std::size_t bytes_when_full_ = 0; ///< that it has sent meanwhile
  std::optional<exit_code> code_;
  bool is_leaving_ = false;
};

} // namespace quell::cli::acp
