// State shared by all turns of a process. Lives as long as any runner of a turn.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "actors/agent/start.hpp"
#include "actors/turns/arriving_files.hpp"
#include "actors/turns/blocking_executor.hpp"
#include "actors/turns/core_link.hpp"
#include "actors/turns/current.hpp"
#include "actors/turns/overflow_memory.hpp"
#include "actors/turns/path_lanes.hpp"
#include "actors/turns/question_table.hpp"
#include "actors/turns/registry.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/steering.hpp"
#include "actors/turns/step_loop.hpp"
#include "actors/turns/tool_catalogue.hpp"
#include "actors/turns/turn_tree.hpp"
#include "controller/blob_store.hpp"
#include "controller/service.hpp"
#include "integrations/host/log_rate_limiter.hpp"
#include "integrations/models/model.hpp"

namespace quell::integrations {
class search_client;
} // namespace quell::integrations

namespace quell::controller::turns {

class mcp_host;
class project_memory;
class standing_rules;
class turn_workspaces;
class workspace_rows;

/// A running agent: its author, its scope and its settings.
struct agent_context {
  operation_id operation; ///< the turn or sub-agent
  operation_id root;
  scope_path scope;
  records::person owner;
  std::string tenant; ///< the token whose share of a limited model it takes; "" = that of its scope
  bool is_sub_agent = false;
  bool is_by_chat = false;       ///< it answers a chat message
  bool is_below_default = false; ///< the agent `default` has spawned it, or an agent above it
  std::string kind_data;         ///< of a turn
  agent_settings agent;
  integrations::model_settings model;
  tool_set tools;
  std::shared_ptr<turn_workspaces> workspaces; ///< of the turn, shared with its sub-agents
  boot_time began{};                           ///< its first start, which can be before a restart
  std::shared_ptr<turn_tree> tree;             ///< of its turn; nullptr for work that belongs to no turn
};

struct agent_runtime {
  core_link core;
  operation_registry registry;
  question_table questions;
  overflow_memory overflows;
  steering_table steering;
  std::unique_ptr<blocking_executor> background_reads;
  std::unique_ptr<blocking_executor> priority_reads; ///< for short reads that the author of a stop waits for
  std::unique_ptr<blocking_executor> speech_work;    ///< carries sound and words, which wait for no read of the store
  output_store* output = nullptr;
  arriving_files arriving;         ///< files of messages, while they are fetched
  blob_store* blobs = nullptr;     ///< nullptr: there are none
  current<turn_settings> settings; ///< a reload replaces them; a running agent keeps its own
  log_rate_limiter log;            ///< about MCP servers and ACP agents
  std::mutex models_guard;
  std::unique_ptr<integrations::model_client> models; ///< nullptr at the end of the process
  std::shared_ptr<mcp_host> mcp;
  std::shared_ptr<workspace_rows> workspaces;            ///< nullptr: no agent has a workspace of its conversation
  std::shared_ptr<integrations::search_client> searches; ///< nullptr: no agent searches the web
  std::shared_ptr<project_memory> project;               ///< nullptr: the notes of workspaces are not read
  std::shared_ptr<standing_rules> allowed;               ///< for good, by approvers; nullptr: nothing is
  std::shared_ptr<path_lanes> paths = std::make_shared<path_lanes>();
  std::function<std::shared_ptr<actors::agent_handle>(actors::agent_start)> spawn;
  make_step_loop loop;
  /// Shows an event to the watchers of this moment, without storing it; nullptr: there are none.
  std::function<void(const records::event_record&)> tell_live;
  std::shared_ptr<const json_result_texts> texts = std::make_shared<json_result_texts>();

  /// The caller that quell uses to act for `owner`.
  static caller acting_for(const records::person& owner);
  /// An event of this agent.
  static records::event_record event_of(const agent_context& who, event_type type, std::string data);
};

} // namespace quell::controller::turns
