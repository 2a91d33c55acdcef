// The options of each command: plain structs, filled by the command line, executed by commands/*.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/connection.hpp"
#include "cli/instant.hpp"
#include "cli/terminal.hpp"
#include "protocol/time.hpp"

namespace quell::cli {

using strings = std::vector<std::string>;
using text_option = std::optional<std::string>;

/// Flags that every command takes, before or after its name.
struct global_options {
  connection_flags where;
  bool json = false;
  bool utc = false;
  time_zone zone() const { return utc ? time_zone::utc : time_zone::local; }
  color_mode color = color_mode::automatic;
};

struct up_options {
  int workers = 2;
  std::optional<int> slots;
  text_option listen, config;
};
struct run_options {
  text_option scope, parent, id, title, worker, stop_signal, containment, on_parent_end, on_leader_exit, supersede,
      env_file, cwd, user;
  strings labels, on, env, secrets, command;
  std::optional<int> slots, pids;
  std::optional<std::uint64_t> memory;
  std::optional<double> cpu;
  std::optional<milliseconds> timeout, grace, lease;
  milliseconds reconnect{60'000};
  bool input = false, pty = false, detach = false;
};
struct ps_options {
  text_option scope, status, worker, kind;
  strings labels;
  bool tree = false, all = false, quiet = false, watch = false;
};
struct show_options {
  std::string id;
};
struct logs_options {
  std::string id;
  text_option stream;
  std::optional<std::uint64_t> tail; ///< lines
  std::optional<milliseconds> since;
  bool follow = false, tree = false;
};
struct wait_options {
  strings ids;
  std::optional<milliseconds> timeout;
  milliseconds reconnect{60'000};
};
struct cancel_options {
  strings ids;
  text_option scope, owner, reason;
  std::optional<milliseconds> grace, timeout;
  std::optional<std::uint64_t> up_to_seq;
  std::string level = "settled"; ///< fenced (= --no-wait), signalled, settled
  milliseconds reconnect{60'000};
  bool everything = false, yes = false, kill = false, dry_run = false, quiet = false;
};
struct cancels_options {
  text_option scope;
  bool open = false, quiet = false;
};
struct why_options {
  std::string target;
};
struct resolve_options {
  text_option id, worker, reason;
  bool declare_dead = false;
};
struct say_options {
  strings words;
  text_option model, parent;
  text_option tools; ///< names with commas between them; "none" alone: no tools
  text_option scope, agent, during_turn;
  milliseconds reconnect{60'000};
  bool no_wait = false;
};
struct chat_options {
  text_option scope, agent, during_turn;
  milliseconds reconnect{60'000};
};
struct history_options {
  std::string action; ///< show, or as in POST /v1/history
  std::string scope, to;
  std::string id; ///< a message, or the end of its id
  strings words;
  text_option expect;
  std::uint32_t limit = 20;
};
struct talk_options {
  text_option scope, voice, file, out;
  text_option talk_key, cancel_key;
  bool push_to_talk = false, open = false;
  milliseconds timeout{120'000};
};
struct mcp_options {
  text_option scope, parent;
  milliseconds lease{30'000};
};
struct acp_options {
  text_option scope, agent;
  milliseconds reconnect{60'000};
};
struct mcp_login_options {
  std::string name;
  bool no_browser = false;
};
struct mcp_logout_options {
  std::string name;
};
struct mcp_list_options {};
struct approve_options {
  std::string id;
  text_option reason;
  bool approve = true;                ///< false: deny
  text_option question;               ///< for a call that has begun: the question's id, or the end of it
  strings values;                     ///< NAME=VALUE
  bool dismiss = false;               ///< with deny: neither yes nor no
  std::optional<milliseconds> always; ///< with approve: this exact call needs no human for so long
  text_option input; ///< with approve: JSON, or @FILE with JSON: the call runs with it instead of its own
};
struct approvals_list_options {};
struct approvals_revoke_options {
  std::string id;
};
struct scopes_options {
  text_option prefix;
  bool live = false;
};
struct status_options {};
struct console_options {
  bool open = false;
};
struct events_options {
  text_option scope, types, after, operation;
  bool follow = false;
};
struct audit_list_options {
  std::uint64_t after = 0;
};
struct audit_export_options {
  text_option to;
  std::uint64_t after = 0;
};
struct audit_verify_options {
  text_option file;
};
struct worker_add_options {
  std::string name;
  text_option key;
  strings labels;
};
struct worker_list_options {
  bool quiet = false;
};
struct worker_show_options {
  std::string name;
};
struct worker_drain_options {
  std::string name;
  text_option reason;
  std::optional<milliseconds> deadline;
  bool cancel = false;
};
struct worker_resume_options {
  std::string name;
};
struct worker_remove_options {
  std::string name;
  bool cancel = false;
};
struct token_create_options {
  std::string name, role;
  text_option scope;
  std::optional<milliseconds> expires;
};
struct token_list_options {};
struct token_revoke_options {
  std::string id;
};
struct cost_options {
  std::string by = "day";
  text_option scope, from, to;
};
struct reload_options {};
struct doctor_options {};
struct completion_options {
  std::string shell;
};
struct help_options {
  text_option topic;
};
struct version_options {};

using command_options =
    std::variant<up_options, status_options, console_options, run_options, ps_options, show_options, logs_options,
                 wait_options, say_options, chat_options, history_options, talk_options, approve_options,
                 approvals_list_options, approvals_revoke_options, mcp_options, acp_options, mcp_login_options,
                 mcp_logout_options, mcp_list_options, cancel_options, cancels_options, why_options, resolve_options,
                 scopes_options, events_options, audit_list_options, audit_export_options, audit_verify_options,
                 worker_add_options, worker_list_options, worker_show_options, worker_drain_options,
                 worker_resume_options, worker_remove_options, token_create_options, token_list_options,
                 token_revoke_options, cost_options, reload_options, doctor_options, completion_options, help_options,
                 version_options>;

} // namespace quell::cli
