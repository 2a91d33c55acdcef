// A call of an MCP tool or a remote agent. A cancel settles it here at once with an unknown outcome; the true outcome
// is recorded when the server reports it.
#include "actors/turns/call_questions.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/guarded_step.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/request_files.hpp"
#include "actors/turns/result_media.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/tool_task.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::seconds hears_for{60}; ///< the time to wait for a cancelled call's true end

class mcp_work final : public actors::tool_work {
 public:
  mcp_work(std::shared_ptr<mcp_host> host, std::shared_ptr<turn_port> port, const operation_id& call,
           tool_definition tool, tool_call what, std::string task)
      : host_(std::move(host)), port_(std::move(port)), call_(call), tool_(std::move(tool)), what_(std::move(what)),
        task_(std::move(task)) {
    if (tool_.is_remote_agent()) state_->sealing.emplace(remote_names{host_->ids(), tool_.mcp_server});
  }

  void start(std::function<void(actors::work_end)> done) override {
    const auto input = input_to_send();
    if (!input) return done({false, port_->failed_text(input.error().code, input.error().detail)});
    if (std::unique_lock lock(state_->guard); state_->is_stopped) {
      lock.unlock();
      return done(end_before_start(task_, *port_));
    }
    {
      const std::lock_guard lock(state_->guard);
      state_->done = std::move(done);
      state_->questions = std::make_shared<call_questions>(
          port_, call_, what_, tool_.mcp_server,
          [state = std::weak_ptr(state_)](std::uint64_t number, integrations::mcp_answer given) {
            if (const auto held = state.lock()) held->answer(number, std::move(given));
          });
    }
    host_->when_ready(
        tool_.mcp_server, port_->who().operation, reach_to::work,
        [state = state_, port = port_, call = call_, what = what_, tool = tool_.mcp_tool, task = task_,
         json = *input](const std::shared_ptr<integrations::mcp_server>& server, const std::string& why) {
          run_guarded(
              "the start of call " + call.text(),
              [&] {
                if (server) return begin(*server, state, port, call, what, tool, task, json);
                state->finish({false, task.empty()
                                          ? port->failed_text(failure_code::mcp_unreachable, why)
                                          : with_unknown_outcome(port->failed_text(failure_code::interrupted, why))});
              },
              [&] {
                state->finish({false, port->failed_text(failure_code::outcome_unknown,
                                                        "the call broke down here; what the server does with it is "
                                                        "unknown")});
              });
        });
  }

  void stop(const std::string& reason) override {
    bool is_left = false;
    {
      const std::lock_guard lock(state_->guard);
      is_left = !task_.empty() && !state_->is_reached && !state_->is_stopped;
      if (!state_->is_stopped) state_->reason = reason;
      state_->is_stopped = true;
    }
    if (!is_left) return cancel(state_, port_, call_);
    stop_task(reason);
    state_->finish(cancelled_end(*port_));
  }

 private:
  struct remote_names {
    remote_ids ids;
    std::string agent;
  };
  struct shared_state : asking_call {
    std::optional<remote_names> sealing; ///< of a remote agent's call; never changes
    std::shared_ptr<integrations::mcp_call> running;
    bool is_stopped = false;
    bool is_reached = false; ///< its server is there, and it is sent or followed now or has been
    std::string reason;

    void answer(std::uint64_t number, integrations::mcp_answer given) {
      std::shared_ptr<integrations::mcp_call> to;
      {
        const std::lock_guard lock(guard);
        if (!is_stopped) to = running;
      }
      if (to) to->answer(number, std::move(given));
    }
  };

  static void begin(integrations::mcp_server& server, const std::shared_ptr<shared_state>& state,
                    const std::shared_ptr<turn_port>& port, const operation_id& call, const tool_call& what,
                    const std::string& tool, const std::string& task, const std::string& json) {
    bool is_stopped = false;
    {
      const std::lock_guard lock(state->guard);
      is_stopped = state->is_stopped;
      state->is_reached = !is_stopped;
    }
    if (is_stopped) return state->finish(end_before_start(task, *port));
    const auto listener = [state, port, call, what](const integrations::mcp_call_event& event) {
      hear(state, *port, call, what, event);
    };
    auto running = task.empty() ? server.call(tool, json, listener, call.text()) : server.follow(task, listener);
    if (!running) return state->finish({false, with_unknown_outcome(json_result_texts{}.interrupted())});
    {
      const std::lock_guard lock(state->guard);
      state->running = std::move(running);
      is_stopped = state->is_stopped;
    }
    if (is_stopped) cancel(state, port, call);
  }

  static actors::work_end cancelled_end(const turn_port& port) {
    return {false,
            port.failed_text(failure_code::outcome_unknown, "cancelled; what the server does with it is unknown")};
  }

  static actors::work_end end_before_start(const std::string& task, const turn_port& port) {
    if (!task.empty()) return cancelled_end(port);
    return {false, port.failed_text(failure_code::not_sent, "cancelled before it was sent")};
  }

  /// The input as the server gets it.
  result<std::string> input_to_send() const {
    auto input = read_input(tool_, what_.input);
    if (!input) return tl::unexpected(std::move(input.error()));
    if (!state_->sealing || !task_.empty()) return std::move(input->json);
    return state_->sealing->ids.opened(input->json, state_->sealing->agent, port_->who().scope);
  }

  static void hear(const std::shared_ptr<shared_state>& held, turn_port& port, const operation_id& call,
                   const tool_call& what, const integrations::mcp_call_event& event) {
    auto& state = *held;
    if (const auto* p = std::get_if<integrations::mcp_call_events::progress>(&event))
      return port.say_progress(call, what, p->message, p->progress, p->total);
    if (const auto* n = std::get_if<integrations::mcp_call_events::named>(&event))
      return port.keep_remote_task(call, what, n->task);
    if (!integrations::is_end(event)) {
      std::shared_ptr<call_questions> questions;
      {
        const std::lock_guard lock(state.guard);
        questions = state.questions;
      }
      if (!questions) return;
      if (const auto* q = std::get_if<integrations::mcp_call_events::question>(&event)) return questions->ask(*q);
      return questions->take_back(std::get<integrations::mcp_call_events::withdrawn>(event).number);
    }
    if (const auto* f = std::get_if<integrations::mcp_call_events::failed>(&event)) {
      // A refusal is an answer; any other end of a call that was sent leaves its outcome unknown.
      if (!f->sent || f->why.code == "mcp_refused" || f->why.code == "a2a_refused")
        return state.finish({false, port.failed_text(f->why.code, f->why.detail)});
      return state.finish(
          {false, port.failed_text(failure_code::outcome_unknown, f->why.detail + ". Outcome unknown: the tool may "
                                                                                  "have done its work, or may "
                                                                                  "still do it")});
    }
    const auto& end = std::get<integrations::mcp_call_events::finished>(event);
    const auto& sealing = state.sealing;
    auto outcome = mcp_outcome_of(
        end.ok, end.ok && sealing ? sealing->ids.sealed(end.result, sealing->agent, port.who().scope) : end.result);
    if (!outcome.ok || end.media.empty()) return state.finish({outcome.ok, std::move(outcome.result)});
    // A stop in between ends the call; what was stored then is swept like any file that no message names.
    store_media(port.blobs(), port.who().scope, end.media,
                [held, result = std::move(outcome.result)](const attachments& files) {
                  held->finish({true, with_result_files(result, files)});
                });
  }

  static void cancel_there(const std::shared_ptr<integrations::mcp_call>& running,
                           const std::shared_ptr<turn_port>& port, const operation_id& call,
                           const std::string& reason) {
    running->cancel(reason.empty() ? "cancelled by user" : reason,
                    [port, call](const std::string& late) { port->record_late(call, late); });
    port->later(std::chrono::milliseconds(hears_for), [running] { running->stop_waiting(); });
  }

  /// A task of an earlier life that this one does not follow yet.
  void stop_task(const std::string& reason) {
    host_->when_ready(tool_.mcp_server, port_->who().operation, reach_to::stop,
                      [port = port_, call = call_, task = task_,
                       reason](const std::shared_ptr<integrations::mcp_server>& server, const std::string&) {
                        const std::shared_ptr<integrations::mcp_call> running =
                            server ? server->follow(task, {}) : nullptr;
                        if (!running) return port->record_late(call, "ignored");
                        cancel_there(running, port, call, reason);
                      });
  }

  /// Ends the call here at once.
  static void cancel(const std::shared_ptr<shared_state>& state, const std::shared_ptr<turn_port>& port,
                     const operation_id& call) {
    std::shared_ptr<integrations::mcp_call> running;
    std::string reason;
    {
      const std::lock_guard lock(state->guard);
      running = std::move(state->running);
      reason = state->reason;
      // Being sent right now, or not started, or already reported.
      if (!running && (state->is_reached || !state->done)) return;
    }
    if (running) {
      cancel_there(running, port, call, reason);
    } else {
      port->record_late(call, "not_sent");
    }
    state->finish(cancelled_end(*port));
  }

  std::shared_ptr<mcp_host> host_;
  std::shared_ptr<turn_port> port_;
  operation_id call_;
  tool_definition tool_;
  tool_call what_;
  const std::string task_; ///< of a remote agent, from an earlier life; "" = none
  std::shared_ptr<shared_state> state_ = std::make_shared<shared_state>();
};

} // namespace

std::unique_ptr<actors::tool_work> mcp_host::work_for(std::shared_ptr<turn_port> port, const operation_id& call,
                                                      const tool_definition& tool, const tool_call& what,
                                                      const std::string& task) {
  return std::make_unique<mcp_work>(shared_from_this(), std::move(port), call, tool, what, task);
}

} // namespace quell::controller::turns
