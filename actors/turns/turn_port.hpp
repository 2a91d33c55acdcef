// The port of one agent: turns its steps into orders to the ledger, its texts into events, and calls its model.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "actors/agent/ports.hpp"
#include "actors/turns/agent_runtime.hpp"
#include "actors/turns/file_versions.hpp"
#include "actors/turns/kept_context.hpp"
#include "actors/turns/tool_task.hpp"
#include "actors/turns/turn_json.hpp"

namespace quell::controller::turns {

/// The facts for `session_status` that the calls of the turn do not show.
struct session_facts {
  milliseconds elapsed{0};
  agent_budget budget;
  std::uint32_t sub_agents = 0; ///< of this agent, running now
  costs::tree_limits limits;    ///< of the turn with all its sub-agents
  tree_cost used;               ///< by them
  std::uint32_t tree_sub_agents = 0, tree_width = 0;
};

/// A model call that is opened before its agent runs.
struct first_model_call {
  operation_id id;
  std::string expected; ///< its expected use
};

/// The order that opens a model call of this agent, with its expected use.
commands::open_model_call model_call_of(const agent_context& who, std::uint32_t number, std::string expected);
/// The least that a request with these messages will use (expected_request.cpp).
std::string expected_use_of(const agent_context& who, const conversation& messages);

class turn_port final : public actors::agent_port, public std::enable_shared_from_this<turn_port> {
 public:
  turn_port(std::shared_ptr<agent_runtime> runtime, agent_context who)
      : runtime_(std::move(runtime)), who_(std::move(who)) {}

  /// Call once: `spawn` makes the handle to the agent of this port; notices about its calls wait until the handle is
  /// known.
  std::shared_ptr<actors::agent_handle> spawn_with(const std::function<std::shared_ptr<actors::agent_handle>()>& spawn);
  const agent_context& who() const { return who_; }
  blob_store* blobs() const { return runtime_->blobs; }
  turn_now tokens_of() const;
  /// The agent's end; set before `over` is called.
  std::optional<actors::turn_effects::end> ended() const;
  std::uint64_t tool_calls() const;
  /// Adds calls that an earlier life registered.
  void adopt_calls(const std::vector<operation_id>& calls);
  /// Sets the agent's progress from before a restart; call before it runs.
  void adopt_past(const actors::turn_past& past);
  /// Sets what is known about the conversation that the agent starts with; call before it runs.
  void adopt_context(kept_context context);
  /// Its first model call, which the order that begins its turn opens; call before it runs, and `expect` once its
  /// handle is known. The agent waits for `first_call_opened`.
  void adopt_first_call(first_model_call what); // first_call.cpp
  void expect_first_call();
  void first_call_opened(const outcome<created>& made);
  /// Work of these calls goes on from before a restart; call before the agent runs.
  void adopt_works(std::map<operation_id, records::operation_record> works, std::map<operation_id, std::string> names);
  /// The files that its conversation has read or written.
  const std::shared_ptr<file_versions>& files() const { return files_; }
  /// Counts one more running sub-agent; false if the limit is reached.
  bool take_place();
  void give_place_back();
  /// The use of a sub-agent or a summary counts for this agent, too, if it ends before this one.
  void add_usage_below(const model_usage& used);
  /// Its agent has died: ends the model call that it has asked and left open. The use that was expected of it counts,
  /// as after a restart, because nobody will say more.
  void close_left_model_call(); // expected_request.cpp
  // For the work of calls:
  std::string failed_text(const std::string& code, const std::string& message) const;
  std::string failed_text(failure_code code, const std::string& message) const {
    return failed_text(std::string(name_of(code)), message);
  }
  void say_progress(const operation_id& call, const tool_call& what, const std::string& message, double progress,
                    std::optional<double> total);
  /// Stores the name of the task that the call is at a remote agent, so that a later life can follow it.
  void keep_remote_task(const operation_id& call, const tool_call& what, const std::string& task);
  /// A running call asks a human and is paused until somebody answers. `refused`: it is being stopped, or has ended.
  void ask_question(const operation_id& call, const tool_call& what, const shown_question& question,
                    std::function<void()> refused = {});
  /// The result that somebody's answer has given the call; nullopt: it has not completed.
  void read_end(const operation_id& call, std::function<void(const std::optional<std::string>& result)> done);
  /// Calls `done` if the question was open until now.
  void take_question_back(const operation_id& call, const operation_id& question, std::function<void()> done);
  question_table& questions() const { return runtime_->questions; }
  /// Records the true outcome of a call that was settled with an unknown outcome.
  void record_late(const operation_id& call, const std::string& late) { record_late(call, late, 100); }
  void later(std::chrono::milliseconds wait, std::function<void()> what);

  actors::tool_traits traits(const tool_call& call) override;
  void input_changed(const tool_call& what) override;
  void expect_request(const conversation& messages) override; // expected_request.cpp
  void open_model_call(std::uint32_t number, actors::answer<result<operation_id>> done) override;
  std::vector<user_message> take_steering() override;
  std::unique_ptr<actors::model_stream> ask_model(conversation messages, actors::step_poster post,
                                                  std::function<void(model_event)> listener) override;
  void close_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) override;
  void close_last_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage) override;
  void store_answer(const assistant_message& what, const std::vector<actors::tool_traits>& traits,
                    const model_usage& usage, actors::answer<result<std::vector<operation_id>>> done) override;
  void begin_call(const operation_id& call, actors::answer<bool> done) override;
  void close_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) override;
  void time_out_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done) override;
  void ask_human(const operation_id& call, const tool_call& what, const std::string& rule) override;
  std::unique_ptr<actors::tool_work> work_for(const operation_id& call, const tool_call& what,
                                              const actors::turn& so_far) override;
  void say(const operation_id& call, const tool_call& what, const actors::agent_news& news) override;
  void say_text(std::uint64_t offset, const std::string& text, std::function<void()> done) override;
  void say_thinking(std::uint64_t offset, const std::string& text, std::function<void()> done) override;
  void say_model_note(const actors::model_note& what) override;
  void end(const actors::turn_effects::end& how, const std::optional<actors::last_answer>& answer,
           std::uint64_t tool_calls, std::function<void()> done) override;

 private:
  void record_late(const operation_id& call, const std::string& late, int tries);
  /// Adds the event of this agent, then calls `done` once it is durable.
  void publish(event_text news_text, std::function<void()> done);
  static fault low_on_space();
  records::message_record answer_message(const assistant_message& what, const model_usage& usage) const;
  records::event_record event_about(const operation_id& call, event_text news_text) const;
  void expect_call(const operation_id& id, call_of what);
  /// False: the next model call is not the adopted one.
  bool takes_first_call(actors::answer<result<operation_id>>& done);
  session_facts facts() const;
  void expire_approval(const operation_id& call, milliseconds wait);
  void open_steered_call(commands::open_model_call step, const std::vector<operation_id>& waiting, store_reader& store,
                         std::function<void(const outcome<created>&)> opened);
  enum class then : std::uint8_t { turn_goes_on, turn_ends };
  void end_model_call(const operation_id& id, std::optional<fault> failed, const model_usage& usage, then next);
  void mark_unknown(tool_results& results) const;
  /// Adds what a stopped call of exec has printed, and remembers that for the model's next request.
  void add_printed(const operation_id& call, const tool_result& what, std::function<void(const tool_result&)> then);
  void take_printed(tool_result& result) const;
  void take_changed(tool_result& result) const;
  void say_running(const operation_id& call, const tool_call& what, milliseconds elapsed);
  void end_call(const operation_id& call, const tool_result& what, actors::answer<tool_result> done);
  records::call_outcome outcome_of(const tool_result& what) const;

  std::unique_ptr<actors::tool_work> adopted_work_for(const operation_id& call, const tool_call& what,
                                                      const tool_definition& tool);

  std::shared_ptr<agent_runtime> runtime_;
  const agent_context who_;
  const std::shared_ptr<file_versions> files_ = std::make_shared<file_versions>();
  mutable std::mutex guard_;
  std::shared_ptr<actors::agent_handle> agent_;
  turn_now now_;
  std::uint32_t sub_agents_ = 0;
  std::string requested_model_; ///< the configured name of the model that the open call asks
  model_usage below_;           ///< of its sub-agents that have ended, and of summaries
  kept_context kept_;
  std::vector<user_message> steering_;    ///< stored with the newest model call, and not told yet
  std::string expected_;                  ///< use of the next model call; the agent's thread
  std::optional<operation_id> open_call_; ///< the open model call
  model_usage counted_;                   ///< of it: by attempts that it has given up
  std::string expected_of_open_;          ///< its expected use
  bool is_requested_ = false;             ///< its request was made
  struct adopted_call {
    operation_id id;
    std::optional<result<operation_id>> opened;
    actors::answer<result<operation_id>> done; ///< the agent waits
  };
  std::optional<adopted_call> first_; ///< until the agent has it
  struct begun_call {
    operation_id call;
    std::string name;
    boot_time at{};
  };
  std::map<operation_id, records::operation_record> adopted_; ///< by call: its task or sub-agent
  std::map<operation_id, std::string> adopted_names_;         ///< by call: see `resume_plan::names`
  std::vector<begun_call> begun_;                             ///< running calls, in the order in which they began
  boot_time progress_not_before_{};
  std::unordered_map<std::string, std::string> changed_; ///< by the model's id of a call: the input that it runs with
  std::unordered_map<std::string, std::string> printed_; ///< by the model's id of a call: its result with `printed`
  std::optional<actors::turn_effects::end> end_;
};

/// The work of one call, by the way its tool runs.
std::unique_ptr<actors::tool_work> make_task_work(std::shared_ptr<agent_runtime> runtime, const agent_context& who,
                                                  const operation_id& call, const tool_definition& tool,
                                                  const tool_call& what, std::shared_ptr<file_versions> files);
std::unique_ptr<actors::tool_work> make_sub_agent_work(std::shared_ptr<agent_runtime> runtime,
                                                       std::shared_ptr<turn_port> above, const operation_id& call,
                                                       const tool_call& what);
/// A sub-agent that is a command and speaks ACP over stdio.
std::unique_ptr<actors::tool_work> make_acp_work(std::shared_ptr<agent_runtime> runtime,
                                                 std::shared_ptr<turn_port> above, const operation_id& call,
                                                 const agent_settings& settings, std::string task);
/// exec in the background, and the tools about such commands.
std::unique_ptr<actors::tool_work> make_background_work(std::shared_ptr<agent_runtime> runtime,
                                                        const agent_context& who, const operation_id& call,
                                                        const tool_call& what, task_request request);
std::unique_ptr<actors::tool_work> make_background_tool(std::shared_ptr<agent_runtime> runtime,
                                                        const agent_context& who, const operation_id& call,
                                                        const tool_definition& tool, const tool_call& what);
std::unique_ptr<actors::tool_work> make_web_search_work(std::shared_ptr<agent_runtime> runtime,
                                                        const tool_definition& tool, const tool_call& what);
/// A result that is known at once.
std::unique_ptr<actors::tool_work> make_answer(actors::work_end what);
/// `session_status`: the progress of this turn so far, and the remainder of each budget.
std::string session_status(const actors::turn& so_far, const session_facts& facts, boot_time now);

} // namespace quell::controller::turns
