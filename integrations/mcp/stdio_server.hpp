// An MCP server whose standard input and output are somewhere else: bytes are handed in and out.
//
// Listeners, replies, lates, hooks and `write` are called one at a time and in order, on the thread of whoever is
// inside one of the functions below or of a call's at that time, and with no lock of ours held. They may call back into
// it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "integrations/mcp/mcp.hpp"

namespace quell::integrations {

class mcp_stdio_server final : public mcp_server {
 public:
  /// `name`: how the configuration calls it, for faults. `write` gets whole lines for the server's standard input, in
  /// order; it must not block nor throw. The first of them may come when `started` is called.
  mcp_stdio_server(std::string name, std::function<void(std::string bytes)> write, mcp_hooks hooks = {});
  ~mcp_stdio_server() override;

  /// The process is there and takes input: the handshake is sent. Before that nothing is written. Twice: no effect.
  void started();
  /// Bytes of its standard output, in order and in any pieces.
  void received(std::string_view bytes);
  /// It is gone, or nothing more can be written to it: `reason` reads like "exited with status 1". Everything open ends
  /// as `mcp_unreachable`. For good: another process is another object. Nothing is written any more when it returns.
  void closed(std::string reason);

  void tools(tools_reply reply) override;
  std::unique_ptr<mcp_call> call(const std::string& tool, const std::string& input_json,
                                 std::function<void(mcp_call_event)> listener,
                                 const std::string& operation = {}) override;

 private:
  struct core;
  std::shared_ptr<core> core_;
};

} // namespace quell::integrations
