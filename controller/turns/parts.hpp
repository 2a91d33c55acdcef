// State shared by all turns of a process. Lives as long as any runner of a turn.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "actors/agent/start.hpp"
#include "controller/log_rate_limiter.hpp"
#include "controller/service.hpp"
#include "controller/turns/errands.hpp"
#include "controller/turns/heart_link.hpp"
#include "controller/turns/path_lanes.hpp"
#include "controller/turns/question_book.hpp"
#include "controller/turns/registry.hpp"
#include "controller/turns/result_json.hpp"
#include "controller/turns/tool_catalogue.hpp"
#include "integrations/models/model.hpp"

namespace quell::controller::turns {

class mcp_host;

/// A running agent: its author, its scope and its settings.
struct agent_context {
  operation_id operation; ///< the turn or sub-agent
  operation_id root;
  scope_path scope;
  storage::person owner;
  bool is_sub_agent = false;
  bool is_by_chat = false; ///< it answers a chat message
  std::string block;       ///< of a turn
  agent_settings agent;
  integrations::model_settings model;
  tool_set tools;
  boot_time began{}; ///< its first start, which can be before a restart
};

struct shared_parts {
  heart_link heart;
  registry who;
  question_book questions;
  std::unique_ptr<errands> later;
  std::unique_ptr<errands> lookups; ///< for short reads that the author of a stop waits for
  output_store* output = nullptr;
  turn_settings settings;
  log_rate_limiter log; ///< about MCP servers and ACP agents
  std::mutex models_guard;
  std::unique_ptr<integrations::model_client> models; ///< nullptr at the end of the process
  std::shared_ptr<mcp_host> mcp;
  std::shared_ptr<path_lanes> paths = std::make_shared<path_lanes>();
  std::function<std::shared_ptr<actors::agent_line>(actors::agent_start)> spawn;
  std::shared_ptr<const json_result_texts> texts = std::make_shared<json_result_texts>();

  /// The caller that quell uses to act for `owner`.
  static caller acting_for(const storage::person& owner);
  /// An event of this agent.
  static storage::event_record event_of(const agent_context& who, std::string type, std::string data);
};

} // namespace quell::controller::turns
