// The MCP servers and remote agents themselves: their starts, ends and pauses, and what is known about each. They
// belong to the MCP-host actor, which takes one step at a time.
//
// No caller waits twice for a server that does not answer: its trouble is remembered, turns go on without it at once,
// and a url is retried in the background until it answers. The news of a server, an answer or its absence, is
// recorded in the step that lets the turn go on, so the next turn finds it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/turns/current.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/piped_task.hpp"

namespace quell::controller::turns {

/// Where the steps of the servers run, one at a time.
class mcp_loop {
 public:
  virtual ~mcp_loop() = default;
  /// Hands a step over to the loop. Any thread; after the loop's end steps are dropped.
  virtual std::function<void(std::function<void()>)> poster() = 0;
  /// Runs a step later, unless the loop ends before. On the loop only.
  virtual void after(milliseconds wait, std::function<void()> step) = 0;
};

/// Why turns do without a server's tools now, or why it was not there when it was last needed, by its name. Any thread.
using mcp_troubles = current<std::map<std::string, std::string>>;

/// Begins to speak with a server that has a url.
using connect_mcp_server = std::function<result<std::shared_ptr<integrations::mcp_server>>(
    const mcp_settings& settings, mcp_accounts& accounts, integrations::mcp_hooks hooks)>;
/// The real one: a remote agent over A2A, or an MCP server over HTTP.
result<std::shared_ptr<integrations::mcp_server>>
connect_over_http(const mcp_settings& settings, mcp_accounts& accounts, integrations::mcp_hooks hooks);

class mcp_servers {
 public:
  mcp_servers(mcp_parts parts, connect_mcp_server connect, std::shared_ptr<mcp_troubles> troubles, mcp_loop& loop)
      : runtime_(std::move(parts.runtime)), accounts_(std::move(parts.accounts)), connect_(std::move(connect)),
        troubles_(std::move(troubles)), loop_(loop) {}

  // As in `mcp_host`, on the loop.
  void tools(const std::vector<std::string>& servers, const mcp_user& user, std::function<void(offered_tools)> done);
  void when_ready(const std::string& name, const operation_id& agent, mcp_host::when_known done);
  void user_over(const operation_id& agent);
  void read_cards();
  /// A user has logged in or out there, which can have ended the trouble: the next turn asks it again.
  void login_changed(const std::string& name);

 private:
  using when_known = mcp_host::when_known;
  using offered_list = result<std::vector<integrations::mcp_tool>>;
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
  /// The result of a request for a server.
  struct found_server {
    std::shared_ptr<integrations::mcp_server> server; ///< nullptr = none
    std::string why{};                                ///< there is none
    milliseconds wait{0};                             ///< the time after which it can be started; 0 = never
  };

  std::optional<mcp_settings> settings_of(const agent_runtime& runtime, const std::string& name) const;
  place_id place_of(const agent_runtime& runtime, const std::string& name, const operation_id& agent) const;
  place* known(const place_id& id);
  void when_ready(const place_id& id, when_known done);
  found_server server(const place_id& id);
  void begin_command(const std::shared_ptr<agent_runtime>& runtime, const mcp_settings& settings, const place_id& id,
                     place& in);
  void gone(const place_id& id, const std::string& why, bool was_stopped);
  void ask_for_tools(const place_id& id, std::function<void(offered_list)> answer, int more);
  std::string known_trouble(const place_id& id);
  milliseconds allowance_for(const place_id& id);
  void answered(const place_id& id);
  void answered_or_not(const place_id& id, const offered_list& tools);
  void silent(const place_id& id, milliseconds allowance);
  void out_of_reach(const place_id& id, const fault& why);
  void try_again(const place_id& id, milliseconds pause);
  void show_troubles();

  const std::weak_ptr<agent_runtime> runtime_;
  const std::shared_ptr<mcp_accounts> accounts_;
  const connect_mcp_server connect_;
  const std::shared_ptr<mcp_troubles> troubles_;
  mcp_loop& loop_;
  std::map<place_id, place> places_;
};

} // namespace quell::controller::turns
