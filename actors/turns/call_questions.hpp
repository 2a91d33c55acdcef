// Questions that the server of one call asks humans, one after the other, each while the call is paused. They belong to
// the call's actor.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/turns/turn_port.hpp"
#include "integrations/mcp/mcp.hpp"

namespace quell::controller::turns {

class call_questions : public std::enable_shared_from_this<call_questions> {
 public:
  using answer = std::function<void(std::uint64_t number, integrations::mcp_answer what)>;
  /// `post`: to the call's actor. `tell` sends an answer to the server; called once for each question that a human has
  /// answered.
  call_questions(std::shared_ptr<turn_port> port, actors::step_poster post, const operation_id& call, tool_call what,
                 std::string server, answer tell, question_source who = question_source::server)
      : port_(std::move(port)), post_(std::move(post)), call_(call), what_(std::move(what)), server_(std::move(server)),
        tell_(std::move(tell)), who_(who) {}

  /// Called, on any thread, for a question that the call may not ask (any more). Set it before the first question.
  void when_refused(std::function<void()> refused) { refused_ = std::move(refused); }
  /// `id`: by which people know the question.
  void ask(integrations::mcp_call_events::question what, const operation_id& id = operation_id::fresh());
  void take_back(std::uint64_t number);
  /// The call has ended or is being stopped: no further question is asked, and open ones stay unanswered.
  void close();

 private:
  struct open_question {
    operation_id id;
    integrations::mcp_call_events::question what;
  };
  void ask_next();
  void answered(const operation_id& question, const human_answer& given);
  /// True if this question was open; it no longer is.
  bool over(const operation_id& question);

  const std::shared_ptr<turn_port> port_;
  const actors::step_poster post_;
  const operation_id call_;
  const tool_call what_;
  const std::string server_;
  const answer tell_;
  const question_source who_;
  std::function<void()> refused_;
  std::deque<open_question> waiting_;
  std::optional<open_question> open_;
  bool is_closed_ = false;
};

/// A running call that may ask: its end, reported once, and its questions, closed with it or with the call's actor.
struct asking_call {
  asking_call() = default;
  ~asking_call() { close(); }
  asking_call(const asking_call&) = delete;
  asking_call& operator=(const asking_call&) = delete;

  std::function<void(actors::work_end)> done; ///< while it runs
  std::shared_ptr<call_questions> questions;

  /// The first end stands.
  void finish(actors::work_end how);

 private:
  void close();
};

} // namespace quell::controller::turns
