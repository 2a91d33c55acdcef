// The MCP servers of the configuration: begun when somebody first needs them, begun anew after they ended, with a
// growing pause between. Shared by all turns. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/turns/piped_task.hpp"
#include "controller/turns/turn_port.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::controller::turns {

class mcp_host : public std::enable_shared_from_this<mcp_host> {
 public:
  explicit mcp_host(std::weak_ptr<shared_parts> parts) : parts_(std::move(parts)) {}

  /// The tools of these servers; `note` names those that did not answer in time, and why. `done` once, on any thread.
  void tools(const std::vector<std::string>& servers,
             std::function<void(std::vector<tool_definition> tools, std::string note)> done);
  /// The work of a call; its cancel is told to the server in the server's way and is over here at once.
  std::unique_ptr<actors::tool_work> work_for(std::shared_ptr<turn_port> port, const operation_id& call,
                                              const tool_definition& tool, const tool_call& what);
  using there = std::function<void(std::shared_ptr<integrations::mcp_server> server, const std::string& why)>;
  /// The server, begun if need be: at once, or when the pause after its last end is over, if that is soon; else nullptr
  /// and why. `done` once, on any thread.
  void when_there(const std::string& name, there done);
  /// Lets go of all servers: the process ends.
  void end();
  /// What an earlier life of this process has left running.
  void clear_leftovers(storage::queries& store);

 private:
  struct place {
    std::shared_ptr<integrations::mcp_server> server; ///< nullptr = not begun
    std::shared_ptr<piped_task> task;                 ///< of a command
    bool is_silent = false;                           ///< it was asked for its tools, and did not answer in time
    std::uint32_t failures = 0;                       ///< in a row, each soon after its beginning
    boot_time begun{}, not_before{};
    std::string last_end;
  };
  void begin_command(const std::shared_ptr<shared_parts>& parts, const mcp_settings& settings, place& in);
  std::shared_ptr<integrations::mcp_server> server(const std::string& name, std::string& why, milliseconds& wait);
  void gone(const std::string& name, const std::string& why, bool was_stopped);
  void ask_for_tools(const std::string& name, integrations::mcp_server::tools_reply answer, int more);
  milliseconds patience_with(const std::string& name);
  void answered(const std::string& name);
  void silent(const std::string& name);

  std::weak_ptr<shared_parts> parts_;
  std::mutex guard_;
  std::map<std::string, place> places_;
};

} // namespace quell::controller::turns
