// The MCP servers and remote agents of the configuration: started when first needed, restarted after they end, with a
// growing pause. Shared by all turns, or one per user (`per = "turn"`). Any thread.
//
// No caller waits twice for a server that does not answer: its trouble is remembered, turns go on without it at once,
// and a url is retried in the background until it answers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/turns/mcp_accounts.hpp"
#include "actors/turns/mcp_user.hpp"
#include "actors/turns/piped_task.hpp"
#include "actors/turns/remote_ids.hpp"
#include "actors/turns/tool_gathering.hpp"
#include "actors/turns/turn_port.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::controller::turns {

class mcp_host : public std::enable_shared_from_this<mcp_host> {
 public:
  static std::shared_ptr<mcp_host> make(std::weak_ptr<agent_runtime> runtime, std::shared_ptr<mcp_accounts> accounts,
                                        remote_ids ids);
  mcp_accounts& accounts() const { return *accounts_; }
  const remote_ids& ids() const { return ids_; }

  using offered = offered_tools;
  /// The tools of these servers. Calls `done` once, on any thread.
  void tools(const std::vector<std::string>& servers, const mcp_user& user, std::function<void(offered)> done);
  /// The work of a call. Its cancel sends the server's own cancel message and ends the call here at once.
  /// `task`: the call is this task of a remote agent from an earlier life, which is followed; "" = it begins.
  std::unique_ptr<actors::tool_work> work_for(std::shared_ptr<turn_port> port, const operation_id& call,
                                              const tool_definition& tool, const tool_call& what,
                                              const std::string& task = {});
  using when_known = std::function<void(std::shared_ptr<integrations::mcp_server> server, const std::string& why)>;
  /// The server, started if necessary: at once, or after the pause that followed its last end if that is short; else
  /// nullptr and the reason. Calls `done` once, on any thread.
  void when_ready(const std::string& name, const operation_id& agent, when_known done);
  /// The agent has ended: its own servers are removed. Their tasks end with their parent operation.
  void user_over(const operation_id& agent);
  /// Why turns do without this server's tools now, or why it was not there when it was last needed; "" = nothing known.
  std::string trouble_of(const std::string& name);
  /// Releases all servers, since the process ends.
  void end();
  /// Reads the cards of all remote agents in the background, so that turns need not wait for them.
  void read_cards();
  /// Stops the servers that an earlier life of this process left running.
  void clear_leftovers(store_reader& store);

 private:
  mcp_host(std::weak_ptr<agent_runtime> runtime, std::shared_ptr<mcp_accounts> accounts, remote_ids ids)
      : runtime_(std::move(runtime)), accounts_(std::move(accounts)), ids_(std::move(ids)) {}

  /// A shared server: the name alone; an agent's own server: the name and the agent.
  using place_id = std::pair<std::string, std::optional<operation_id>>;
  struct place {
    std::optional<mcp_user> user;                     ///< for an agent's own server
    std::shared_ptr<integrations::mcp_server> server; ///< nullptr = not started
    std::shared_ptr<piped_task> task;                 ///< for a command
    std::string trouble;                              ///< the reason why no caller waits for its tools; "" = none known
    bool wants_login = false;                         ///< the trouble is that nobody has logged in there
    bool is_silent = false;     ///< the trouble, now or in its last life, is that it does not answer
    bool is_tried = false;      ///< in the background, until the trouble ends
    std::uint32_t failures = 0; ///< consecutive, each soon after its start
    boot_time begun{}, not_before{};
    std::string last_end;
  };
  std::optional<mcp_settings> settings_of(const agent_runtime& runtime, const std::string& name) const;
  place_id place_of(const agent_runtime& runtime, const std::string& name, const operation_id& agent) const;
  void begin_command(const std::shared_ptr<agent_runtime>& runtime, const mcp_settings& settings, const place_id& id,
                     place& in);
  void when_ready(const place_id& id, when_known done);
  std::shared_ptr<integrations::mcp_server> server(const place_id& id, std::string& why, milliseconds& wait);
  void gone(const place_id& id, const std::string& why, bool was_stopped);
  void ask_for_tools(const place_id& id, integrations::mcp_server::tools_reply answer, int more);
  std::string known_trouble(const place_id& id, bool& wants_login);
  milliseconds allowance_for(const place_id& id);
  // These record what an answer or its absence says about a server. They call nobody back on this thread.
  void answered(const place_id& id);
  void answered_or_not(const place_id& id, const result<std::vector<integrations::mcp_tool>>& tools);
  void silent(const place_id& id, milliseconds allowance);
  void out_of_reach(const place_id& id, const fault& why);
  void try_again(const place_id& id, milliseconds pause);
  /// A user has logged in or out there, which can have ended the trouble.
  void look_again(const std::string& name);

  std::weak_ptr<agent_runtime> runtime_;
  const std::shared_ptr<mcp_accounts> accounts_;
  const remote_ids ids_;
  std::mutex guard_;
  std::map<place_id, place> places_;
};

} // namespace quell::controller::turns
