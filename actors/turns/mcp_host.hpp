// The MCP servers and remote agents of the configuration, as turns use them: started when first needed, restarted after
// they end, with a growing pause. Shared by all turns, or one per user (`per = "turn"`). Any thread: each order is a
// message to the MCP-host actor (actors/mcp_host_actor.hpp), to which the servers belong (mcp_servers.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/turns/mcp_accounts.hpp"
#include "actors/turns/mcp_user.hpp"
#include "actors/turns/remote_ids.hpp"
#include "actors/turns/tool_gathering.hpp"
#include "actors/turns/turn_port.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::controller::turns {

/// Why a call needs its server. A stop overtakes whatever waits at the host.
enum class reach_to : std::uint8_t { work, stop };

class mcp_host : public std::enable_shared_from_this<mcp_host> {
 public:
  mcp_host(std::shared_ptr<mcp_accounts> accounts, remote_ids ids)
      : accounts_(std::move(accounts)), ids_(std::move(ids)) {}
  virtual ~mcp_host() = default;

  mcp_accounts& accounts() const { return *accounts_; }
  const remote_ids& ids() const { return ids_; }

  using offered = offered_tools;
  /// The tools of these servers. Calls `done` once, on any thread, unless the process ends first.
  virtual void tools(std::vector<std::string> servers, mcp_user user, std::function<void(offered)> done) = 0;
  using when_known = std::function<void(std::shared_ptr<integrations::mcp_server> server, const std::string& why)>;
  /// The server, started if necessary: at once, or after the pause that followed its last end if that is short; else
  /// nullptr and the reason. Calls `done` once, on any thread, unless the process ends first.
  virtual void when_ready(std::string name, operation_id agent, reach_to why, when_known done) = 0;
  /// The agent has ended: its own servers are removed. Their tasks end with their parent operation.
  virtual void user_over(operation_id agent) = 0;
  /// Reads the cards of all remote agents in the background, so that turns need not wait for them.
  virtual void read_cards() = 0;
  /// Releases all servers, since the process ends. Nobody is called back afterwards.
  virtual void end() = 0;

  /// The work of a call. Its cancel sends the server's own cancel message and ends the call here at once.
  /// `task`: the call is this task of a remote agent from an earlier life, which is followed; "" = it begins.
  std::unique_ptr<actors::tool_work> work_for(std::shared_ptr<turn_port> port, const operation_id& call,
                                              const tool_definition& tool, const tool_call& what,
                                              const std::string& task = {});

 private:
  const std::shared_ptr<mcp_accounts> accounts_;
  const remote_ids ids_;
};

/// The parts that the servers of a host need.
struct mcp_parts {
  std::weak_ptr<agent_runtime> runtime;
  std::shared_ptr<mcp_accounts> accounts;
  remote_ids ids;
};

/// Stops the MCP servers that an earlier life of this process left running.
void clear_mcp_leftovers(const agent_runtime& runtime, store_reader& store);

} // namespace quell::controller::turns
