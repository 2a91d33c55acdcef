// `quell mcp`: an MCP server on standard input and output; all its work lies below its own external operation.
//
// It lives as long as its client, or until that operation is stopped: then every call says so, and the server ends.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/mcp/own_operation.hpp"
#include "cli/mcp/rpc.hpp"
#include "cli/mcp/stdio.hpp"
#include "cli/mcp/tool_call.hpp"
#include "cli/session.hpp"

namespace quell::cli::mcp {

class server {
 public:
  /// `create`: the body of its own operation.
  server(session& s, api& controller, json create, milliseconds lease, caller where);
  ~server();

  /// Runs until the client leaves, a signal comes or its operation is stopped. Returns the exit code.
  exit_code serve();

 private:
  struct open_call {
    json id;
    std::string version;                     ///< version of the request
    std::optional<call_arguments> arguments; ///< set while it waits for the registration
    std::unique_ptr<tool_call> work;
  };

  // --- messages from the client (server_protocol.cpp)
  void take_line(std::string_view line);
  void take(json whole);
  void take_request(message m);
  void take_notification(const message& m);
  void initialize(const message& m);
  void call_tool(message m);
  void answer_request(const message& m, json result);
  void answer_call(const std::string& key, call_answer a);
  void send_result(const json& id, const std::string& version, call_answer a);
  void give_up_call(const json& request_id, const std::string& reason);

  // --- the server's own life (server.cpp)
  void start_waiting_calls();
  void start(const std::string& key, call_arguments arguments);
  void answer_all(const std::string& text);
  void stopped(const std::string& text);
  void client_gone(const char* why);
  void let_calls_end();
  void say_goodbye();
  void leave(exit_code code);
  void stop_operation(const std::string& id, const std::string& reason, json body);

  session& s_;
  api& api_;
  call_context context_;
  std::optional<stdio_channel> channel_;
  own_operation own_;
  std::map<std::string, open_call> calls_;           ///< by the request's id as JSON
  std::vector<std::unique_ptr<tool_call>> answered_; ///< can still be on the stack
  std::string version_;
  std::optional<exit_code> code_;
  event_loop::handle hurry_ = 0;
  bool is_leaving_ = false, has_left_ = false, has_answered_ = false;
};

} // namespace quell::cli::mcp
