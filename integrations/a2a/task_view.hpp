// A task of a remote agent, as its answers and events tell it. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "integrations/a2a/media_room.hpp"
#include "integrations/mcp/mcp.hpp"
#include "integrations/models/json.hpp"

namespace quell::integrations::a2a {

enum class task_state : std::uint8_t {
  unknown,
  working, ///< or submitted
  completed,
  failed,
  canceled,
  rejected,
  input_required,
  auth_required,
};
/// The task has ended and cannot change.
bool is_final(task_state state);

class task_view {
 public:
  /// `room`: of the agent, for the files of all its calls.
  explicit task_view(std::shared_ptr<media_room> room = std::make_shared<media_room>()) : media_(std::move(room)) {}

  /// One result of a request, or one event of a stream: an object with `task`, `message`, `statusUpdate` or
  /// `artifactUpdate`, or a bare task (GetTask, CancelTask). False if it is none of them, or is about another task.
  bool take(const json& what);

  const std::string& id() const { return id_; }           ///< "" as long as it is unknown
  const std::string& context() const { return context_; } ///< of the conversation
  task_state state() const { return state_; }
  bool is_message() const { return is_message_; } ///< the agent answered with a message, without a task
  const std::string& status_text() const { return status_text_; }
  /// The call can end here: final, or it waits for somebody, or it was a message.
  bool is_over() const;
  /// The end for the model; after `is_over`.
  mcp_call_events::finished end() const;

 private:
  struct artifact {
    std::string id;
    json blocks = json::array(); ///< as the content of an MCP result
  };
  bool take_ids(const json& what, const char* id_name);
  void take_status(const json& status);
  enum class artifact_text : std::uint8_t { replaces, appends };
  void take_artifact(const json& what, artifact_text how);
  void take_parts(const json& parts, json& into);
  void add_file(const json& part, std::string raw, json& into);
  void add_text(std::string text, json& into);
  void add_block(json block, json& into);

  std::string id_, context_, status_text_;
  task_state state_ = task_state::unknown;
  bool is_message_ = false, truncated_ = false;
  std::size_t text_bytes_ = 0, blocks_ = 0;
  media_room::share media_;
  std::vector<artifact> artifacts_;
};

} // namespace quell::integrations::a2a
