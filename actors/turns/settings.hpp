// The configuration of turns: models, agents, tool timeouts, approval rules, MCP servers. Read from the same TOML file
// as the rest of quelld's configuration. Pure except for the files that it names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/turn/repetition.hpp"
#include "actors/turns/cancel_words.hpp"
#include "actors/turns/place_list.hpp"
#include "actors/turns/place_settings.hpp"
#include "controller/costs/limits.hpp"
#include "integrations/models/model.hpp"
#include "integrations/search/search.hpp"
#include "protocol/fault.hpp"
#include "protocol/scope.hpp"
#include "protocol/time.hpp"

namespace quell::controller::turns {

struct agent_budget {
  // Of a turn together with its sub-agents:
  std::uint32_t model_calls = 100;
  std::uint32_t depth = 3;          ///< depth of nested sub-agents; 0: it has none
  std::uint32_t width = 8;          ///< sub-agents at once
  std::uint64_t max_cost_nanos = 0; ///< in billionths of the currency of the prices; 0 = no limit
  std::uint64_t max_tokens = 0;     ///< input and output; 0 = no limit
  std::uint32_t background = 8;     ///< commands in the background at once, in one scope; 0: none
  milliseconds timeout{0};          ///< of a whole turn; 0 = none
  friend bool operator==(const agent_budget&, const agent_budget&) = default;
};

/// Where the tasks of an agent work.
enum class workspace_mode : std::uint8_t {
  shared,    ///< in `workspace`, or in the worker's work_dir: whoever works there sees the same files
  per_scope, ///< in a workspace that belongs to the conversation
  per_turn   ///< in one that begins and ends with the turn
};

struct agent_settings {
  std::string name;
  std::vector<scope_path> scopes;  ///< it serves these and everything below; empty: all scopes, for a command none
  std::string model;               ///< of `turn_settings::models`; "" for a command
  std::vector<std::string> models; ///< that a message can ask for instead of `model`
  std::string instructions;
  /// Names of tools; `mcp:NAME` = all of that server, `a2a:NAME` = that remote agent. Absent: all built-in ones and
  /// none of these.
  std::optional<std::vector<std::string>> tools;
  std::optional<std::string> workspace; ///< absolute path on the worker; absent: the worker's work_dir
  workspace_mode mode = workspace_mode::shared;
  bool chooses_workspace = false;                  ///< `workspace` or `workspace_mode` is configured
  std::uint64_t workspace_quota = 1ULL << 30;      ///< bytes; 0 = none
  milliseconds workspace_retention{2'592'000'000}; ///< without use: 30 days; 0 = for ever
  bool reads_agents_md = true;                     ///< AGENTS.md and the skills of its workspace
  std::map<std::string, std::string> on;           ///< labels that the worker must have
  std::optional<std::string> worker;
  std::optional<std::string> user;    ///< of its processes, which the worker must permit; absent: the worker's choice
  bool is_only_spawned = false;       ///< `scopes` is given and empty: it serves none
  std::vector<std::string> may_spawn; ///< agents that `spawn_agent` starts with rights of their own
  agent_budget budget;
  actors::repetition_limits repetition{};
  integrations::answer_settings answer;     ///< wins over its model's, value by value
  std::optional<milliseconds> exec_timeout; ///< of a call of `exec`; 0 = none; absent: as in [tools.timeouts]
  milliseconds exec_timeout_max{0};         ///< the most that a call can ask for; 0 = no limit
  std::string during_turn = "queue"; ///< what a message does while a turn runs, unless it says so: or steer, supersede
  std::vector<std::string> command;  ///< not empty: this agent is that program, run as a task
  bool acp = false;                  ///< the program speaks ACP over stdio

  bool is_command() const { return !command.empty(); }
  friend bool operator==(const agent_settings&, const agent_settings&) = default;
};

struct approval_rule {
  std::string tool = "*";  ///< glob on the offered name
  std::string match;       ///< glob on the command line, or on the input; "" = always
  bool denies = false;     ///< instead of asking: nobody can approve it
  milliseconds timeout{0}; ///< nobody decided for so long: the call is denied; 0 = it waits for ever
  bool allows = false;     ///< instead of asking: rules that ask do not count for what it fits
  friend bool operator==(const approval_rule&, const approval_rule&) = default;
};

/// The name of a remote agent among the servers: `a2a:NAME`.
constexpr std::string_view remote_agent_prefix = "a2a:";
inline bool is_remote_agent(std::string_view server) { return server.starts_with(remote_agent_prefix); }
/// For logs and people: "MCP server NAME" or "remote agent NAME".
inline std::string server_title(const std::string& server) {
  return is_remote_agent(server) ? "remote agent " + server.substr(remote_agent_prefix.size()) : "MCP server " + server;
}

/// Either `command` (stdio) or `url` (streamable HTTP); or a remote agent ([[a2a]]), which has a `url`.
struct mcp_settings {
  std::string name; ///< at most 32 characters; of a remote agent behind `a2a:`
  std::vector<std::string> command;
  std::string url;
  std::optional<std::string> worker;
  std::optional<std::string> user; ///< of the command's processes; absent: the worker's choice
  std::map<std::string, std::string> on;
  std::map<std::string, std::string> env; ///< of the command, literally
  bool per_turn = false;                  ///< with `command`: each turn has its own
  std::string key_env;                    ///< with `url`: quelld's variable that holds the bearer token
  std::string key;                        ///< secret: its value; never logged, stored or printed
  std::string client_id;                  ///< with `url`: quell's registered client id at the login server
  std::string client_secret_env;          ///< with `client_id`: quelld's variable that holds its secret
  std::string client_secret;              ///< secret, like `key`
  std::string client_metadata_url;        ///< with `url`: https address of a document about this client
  std::string key_file;                   ///< of a remote agent: the file that holds the bearer token
  milliseconds timeout{600'000};          ///< of a call of a remote agent; 0 = none
  friend bool operator==(const mcp_settings&, const mcp_settings&) = default;
};

/// The sources of a model's secrets: names only.
struct key_source {
  std::string env;
  std::string file;
  std::map<std::string, std::string> headers_env; ///< header → quelld's variable that holds its value
  friend bool operator==(const key_source&, const key_source&) = default;
};

/// How people address the bot, and how it answers a stop (section [chat]).
struct chat_options {
  std::vector<std::string> bot_names;
  chat::vocabulary words; ///< in addition to the built-in ones
  /// Of `turn_settings::models`; "": the model of the scope's agent; "none": no model.
  std::string acknowledgement_model;
  double confidence = 0.5; ///< a voice transcript below this is ignored
  /// Deciders about waiting calls, in addition to operators and admins: `SERVICE:ACCOUNT`, `SERVICE:*`, `token:ID`.
  std::vector<std::string> approvers;
  bool approve_own = false;       ///< whether they decide about their own requests
  bool default_agent_asks = true; ///< the agent `default` asks before exec if it is reached by chat
  place_list places;              ///< each scope at most once
};

struct turn_settings {
  chat_options chat;
  costs::cost_settings costs{};
  std::vector<integrations::model_settings> models; ///< at least one
  std::vector<agent_settings> agents;               ///< at least one
  std::map<std::string, milliseconds> timeouts;     ///< tool (or `mcp:NAME`) → its own timeout; 0 = none
  std::vector<approval_rule> approvals;
  std::vector<mcp_settings> mcp;
  integrations::search_settings web_search{};
  std::map<std::string, key_source> keys; ///< by model name

  const integrations::model_settings* model(std::string_view name) const;
  const agent_settings* agent(std::string_view name) const;
};

/// The model that this agent asks, with the agent's own answer settings and its fallback models. Nullopt if none of
/// that name is configured.
std::optional<integrations::model_settings> model_of(const turn_settings& settings, const agent_settings& agent);

/// Whether messages of this scope may be answered by this agent.
bool serves(const agent_settings& agent, const scope_path& scope);
/// `named` if it serves `scope`, else the first agent that does, of those that the place allows; nullptr if there is
/// none. A command serves a scope only if it is named.
const agent_settings* agent_for(const turn_settings& settings, const scope_path& scope,
                                const std::optional<std::string>& named);

} // namespace quell::controller::turns
