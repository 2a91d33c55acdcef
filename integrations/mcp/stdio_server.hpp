// An MCP server whose standard input and output are handled elsewhere: bytes are passed in and out.
//
// Listeners, replies, late_results, hooks and `write` are called one at a time and in order, on whichever thread is
// inside one of the functions below or of a call's at that time, and without any of our locks held. They may call back
// in.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

class mcp_stdio_server final : public mcp_server {
 public:
  /// `name`: the server's name in the configuration, for faults. `write` gets whole lines for the server's standard
  /// input, in order; it must neither block nor throw. `started` is the first function that can call it.
  mcp_stdio_server(std::string name, std::function<void(std::string bytes)> write, mcp_hooks hooks = {});
  ~mcp_stdio_server() override;

  /// The process runs and takes input: sends the handshake. Nothing is written before that. Idempotent.
  void started();
  /// Bytes of the process's standard output, in order and in arbitrary pieces.
  void received(std::string_view bytes);
  /// The process is gone, or nothing more can be written to it: `reason` reads like "exited with status 1". Everything
  /// open ends as `mcp_unreachable`. Final: a new process needs a new object. Nothing is written after it returns.
  void closed(std::string reason);

  void tools(tools_reply reply) override;
  std::unique_ptr<mcp_call> call(const std::string& tool, const std::string& input_json,
                                 std::function<void(mcp_call_event)> listener,
                                 const std::string& operation = {}) override;
  std::unique_ptr<mcp_call> follow(const std::string&, std::function<void(mcp_call_event)>) override { return {}; }
  void ask_end(const std::string&, late_result_listener tell) override { tell("ignored"); }

 private:
  struct implementation;
  std::shared_ptr<implementation> implementation_;
};

} // namespace quell::integrations
