// A call of an MCP tool or a remote agent. A cancel settles it here at once with an unknown outcome; the true outcome
// is recorded when the server reports it.
#include <utility>

#include "actors/turns/call_questions.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/guarded_step.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/request_files.hpp"
#include "actors/turns/result_media.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/tool_task.hpp"
#include "integrations/mcp/server_code.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::chrono::seconds hears_for{60}; ///< the time to wait for a cancelled call's true end

/// The call itself: constant, so that the server's thread may read it.
struct call_facts {
  std::shared_ptr<mcp_host> host;
  std::shared_ptr<turn_port> port;
  operation_id call;
  tool_definition tool;
  tool_call what;
  std::string task; ///< of a remote agent, from an earlier life; "" = none
};

actors::work_end cancelled_end(const turn_port& port) {
  return {false, port.failed_text(failure_code::outcome_unknown, "cancelled; what the server does with it is unknown")};
}

void cancel_there(const std::shared_ptr<integrations::mcp_call>& running, const call_facts& of,
                  const std::string& reason) {
  running->cancel(reason.empty() ? "cancelled by user" : reason,
                  [port = of.port, call = of.call](const std::string& late) { port->record_late(call, late); });
  of.port->later(std::chrono::milliseconds(hears_for), [running] { running->stop_waiting(); });
}

/// A task of an earlier life that this one does not follow yet.
void stop_task(const std::shared_ptr<const call_facts>& of, const std::string& reason) {
  of->host->when_ready(of->tool.mcp_server, of->port->who().operation, reach_to::stop,
                       [of, reason](const std::shared_ptr<integrations::mcp_server>& server, const std::string&) {
                         const std::shared_ptr<integrations::mcp_call> running =
                             server ? server->follow(of->task, {}) : nullptr;
                         if (!running) return of->port->record_late(of->call, "ignored");
                         cancel_there(running, *of, reason);
                       });
}

class mcp_work final : public actors::tool_work {
 public:
  explicit mcp_work(call_facts of) : of_(std::make_shared<const call_facts>(std::move(of))) {}

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    const auto input = input_to_send();
    if (!input) return done({false, port().failed_text(input.error().code, input.error().detail)});
    if (is_stopped_) return done(end_before_start());
    post_ = std::move(post);
    asks_.done = std::move(done);
    asks_.questions = std::make_shared<call_questions>(of_->port, post_, of_->call, of_->what, of_->tool.mcp_server,
                                                       [this](std::uint64_t number, integrations::mcp_answer given) {
                                                         if (running_ && !is_stopped_)
                                                           running_->answer(number, std::move(given));
                                                       });
    // Weak: the end of a server waits for its thread, for which the call's actor must not wait.
    of_->host->when_ready(of_->tool.mcp_server, port().who().operation, reach_to::work,
                          [this, post = post_, json = *input](const std::shared_ptr<integrations::mcp_server>& server,
                                                              const std::string& why) {
                            post([this, server = std::weak_ptr(server), is_there = server != nullptr, why, json] {
                              reached(server, is_there, why, json);
                            });
                          });
  }

  void stop(const std::string& reason) override {
    if (is_stopped_) return;
    is_stopped_ = true;
    const bool is_left = !of_->task.empty() && !is_reached_;
    if (is_left) stop_task(of_, reason);
    if (!asks_.done) return; // not started, or over
    if (running_)
      cancel_there(std::exchange(running_, nullptr), *of_, reason);
    else if (!is_left)
      port().record_late(of_->call, "not_sent");
    asks_.finish(cancelled_end(port()));
  }

 private:
  /// Takes steps to the call's actor.
  using call_steps = std::function<void(std::function<void(asking_call&)>)>;

  turn_port& port() const { return *of_->port; }

  actors::work_end end_before_start() const {
    if (!of_->task.empty()) return cancelled_end(port());
    return {false, port().failed_text(failure_code::not_sent, "cancelled before it was sent")};
  }

  /// The input as the server gets it.
  result<std::string> input_to_send() const {
    auto input = read_input(of_->tool, of_->what.input);
    if (!input) return tl::unexpected(std::move(input.error()));
    if (!of_->tool.is_remote_agent() || !of_->task.empty()) return std::move(input->json);
    return of_->host->ids().opened(input->json, of_->tool.mcp_server, port().who().scope);
  }

  void reached(const std::weak_ptr<integrations::mcp_server>& which, bool was_there, const std::string& why,
               const std::string& json) {
    if (is_stopped_) return; // it has ended here
    run_guarded(
        "the start of call " + of_->call.text(),
        [&] {
          if (const auto server = which.lock()) return begin(*server, json);
          const std::string gone = was_there ? "the server " + of_->tool.mcp_server + " has ended" : why;
          asks_.finish({false, of_->task.empty()
                                   ? port().failed_text(failure_code::mcp_unreachable, gone)
                                   : with_unknown_outcome(port().failed_text(failure_code::interrupted, gone))});
        },
        [&] {
          asks_.finish({false, port().failed_text(failure_code::outcome_unknown,
                                                  "the call broke down here; what the server does with it is "
                                                  "unknown")});
        });
  }

  void begin(integrations::mcp_server& server, const std::string& json) {
    is_reached_ = true;
    const call_steps steps = [this, post = post_](std::function<void(asking_call&)> step) {
      post([this, step = std::move(step)] { step(asks_); });
    };
    const auto listener = [of = of_, steps](const integrations::mcp_call_event& event) { hear(*of, event, steps); };
    running_ = of_->task.empty() ? server.call(of_->tool.mcp_tool, json, listener, of_->call.text())
                                 : server.follow(of_->task, listener);
    if (!running_) asks_.finish({false, with_unknown_outcome(json_result_texts{}.interrupted())});
  }

  /// On the server's thread.
  static void hear(const call_facts& of, const integrations::mcp_call_event& event, const call_steps& post) {
    using namespace integrations::mcp_call_events;
    const auto ends = [post](actors::work_end how) {
      post([how = std::move(how)](asking_call& it) { it.finish(how); });
    };
    auto& port = *of.port;
    if (const auto* p = std::get_if<progress>(&event))
      return port.say_progress(of.call, of.what, p->message, p->progress, p->total);
    if (const auto* n = std::get_if<named>(&event)) return port.keep_remote_task(of.call, of.what, n->task);
    if (const auto* q = std::get_if<question>(&event))
      return post([what = *q](asking_call& it) {
        if (it.questions) it.questions->ask(what);
      });
    if (const auto* w = std::get_if<withdrawn>(&event))
      return post([number = w->number](asking_call& it) {
        if (it.questions) it.questions->take_back(number);
      });
    if (const auto* f = std::get_if<failed>(&event)) {
      // A refusal is an answer; any other end of a call that was sent leaves its outcome unknown.
      if (!f->sent || is_refusal(f->why)) return ends({false, port.failed_text(f->why.code, f->why.detail)});
      return ends(
          {false, port.failed_text(failure_code::outcome_unknown, f->why.detail + ". Outcome unknown: the tool may "
                                                                                  "have done its work, or may "
                                                                                  "still do it")});
    }
    const auto& end = std::get<finished>(event);
    const bool is_sealed = end.ok && of.tool.is_remote_agent();
    auto outcome = mcp_outcome_of(
        end.ok, is_sealed ? of.host->ids().sealed(end.result, of.tool.mcp_server, port.who().scope) : end.result);
    if (!outcome.ok || end.media.empty()) return ends({outcome.ok, std::move(outcome.result)});
    // A stop in between ends the call; what was stored then is swept like any file that no message names.
    store_media(port.blobs(), port.who().scope, end.media,
                [ends, result = std::move(outcome.result)](const attachments& files) {
                  ends({true, with_result_files(result, files)});
                });
  }

  const std::shared_ptr<const call_facts> of_;
  actors::step_poster post_;
  asking_call asks_;
  std::shared_ptr<integrations::mcp_call> running_;
  bool is_stopped_ = false;
  bool is_reached_ = false; ///< its server is there, and it is sent or followed, or has been
};

} // namespace

std::unique_ptr<actors::tool_work> mcp_host::work_for(std::shared_ptr<turn_port> port, const operation_id& call,
                                                      const tool_definition& tool, const tool_call& what,
                                                      const std::string& task) {
  return std::make_unique<mcp_work>(call_facts{shared_from_this(), std::move(port), call, tool, what, task});
}

} // namespace quell::controller::turns
