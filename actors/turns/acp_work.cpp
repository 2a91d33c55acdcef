// A sub-agent that is a program and speaks ACP: it is prompted once, and its final text is the answer. A stop sends
// `session/cancel` to it, in addition to the signal that its task gets anyway.
#include <algorithm>
#include <utility>

#include "actors/turns/approval.hpp"
#include "actors/turns/piped_task.hpp"
#include "actors/turns/project_memory.hpp"
#include "actors/turns/project_reading.hpp"
#include "actors/turns/tool_task.hpp"
#include "actors/turns/turn_port.hpp"
#include "actors/turns/turn_workspaces.hpp"
#include "integrations/acp/acp_session.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t most_text = 512 << 10;
constexpr std::chrono::milliseconds agent_hears_for{
    300}; ///< the time in which a cancelled agent can answer before its input is closed
constexpr std::chrono::seconds leaves_within{1}; ///< after its answer, once its input is closed

/// The session and its task. All steps are those of the call's actor.
class acp_run : public std::enable_shared_from_this<acp_run> {
 public:
  acp_run(std::shared_ptr<agent_runtime> runtime, std::shared_ptr<turn_port> above, actors::step_poster post,
          const agent_settings& settings)
      : runtime_(std::move(runtime)), above_(std::move(above)), post_(std::move(post)), name_(settings.name),
        session_(settings.name,
                 settings.mode == workspace_mode::shared ? settings.workspace.value_or("/") : workspace_mount),
        outcome_(
            {false, above_->failed_text(failure_code::agent_unreachable, "the agent has ended without an answer")}),
        task_(std::make_shared<piped_task>(runtime_, "ACP agent " + settings.name)) {}

  /// `writes_into`: the project whose notes can change; "" = none.
  void start(create_order order, const std::string& prompt, const std::shared_ptr<workspace_placer>& placer,
             const std::string& writes_into, std::function<void(actors::work_end)> done) {
    done_ = std::move(done);
    const auto spec = order.task;
    // Even if the call's actor has died; see task_run::ended.
    const auto ended = [placer, spec, project = runtime_->project, writes_into](const ended_operation& e) {
      if (project && !writes_into.empty()) project->changed(writes_into);
      if (placer) placer->ended(spec, e.error ? e.error->code : std::string(), e.exit.has_value());
    };
    do_with([&](integrations::acp_session& s) { s.prompt(prompt); });
    task_->start(std::move(order), {[self = shared_from_this(), spec, placer] {
                                      if (placer) placer->began(spec);
                                      self->post_([self] { self->do_with([](auto& s) { s.start(); }); });
                                    },
                                    [self = shared_from_this()](std::string_view bytes) {
                                      self->post_([self, bytes = std::string(bytes)] {
                                        self->do_with([&](auto& s) { s.receive(bytes); });
                                      });
                                    },
                                    [self = shared_from_this()](const std::string& why, bool) {
                                      self->post_([self, why] {
                                        self->do_with([&](auto& s) { s.close(why); });
                                        self->finish();
                                      });
                                    },
                                    ended});
  }

  void stop() {
    do_with([](auto& s) { s.cancel(); });
    above_->later(agent_hears_for, [task = task_] { task->end_input(); });
  }

 private:
  template <class What>
  void do_with(const What& what) {
    what(session_);
    for (auto& e : session_.effects()) perform(e);
  }

  void perform(integrations::acp_effect& effect) {
    using namespace integrations::acp_effects;
    if (auto* bytes = std::get_if<send>(&effect)) {
      task_->write(std::move(bytes->bytes));
    } else if (auto* answer_text = std::get_if<text>(&effect)) {
      if (is_cut_) return;
      is_cut_ = text_.size() + answer_text->delta.size() > most_text;
      text_ += is_cut_ ? "\n[... the rest is left out: the answer is too long ...]" : answer_text->delta;
    } else if (auto* permission_request = std::get_if<permission>(&effect)) {
      permit(*permission_request);
    } else if (auto* end = std::get_if<finished>(&effect)) {
      let_go({end->why == "end_turn",
              end->why == "end_turn"
                  ? ok_result(turn_result(text_, {}, 0))
                  : above_->failed_text(failure_code::error, "the agent stopped: " + end->why + ". " + text_)});
    } else if (auto* broken = std::get_if<failed>(&effect)) {
      let_go({false, above_->failed_text(broken->why.code, broken->why.detail)});
    } else if (std::holds_alternative<late>(effect)) {
      task_->end_input(); // its answer to the cancel
    } else if (auto* odd = std::get_if<bad_message>(&effect)) {
      runtime_->log.warn("ACP agent " + name_, "ACP agent " + name_ + " " + odd->what, runtime_->core.now().boot);
    }
  }

  /// Ends the program, which ends by itself when its input is closed or is stopped; its answer is reported then.
  void let_go(actors::work_end how) {
    outcome_ = std::move(how);
    task_->end_input();
    above_->later(leaves_within, [self = shared_from_this()] {
      self->task_->stop(stop_cause::parent_ended);
      self->post_([self] { self->finish(); });
    });
  }

  /// Permits the request once if no rule requires a human for it; this function does not ask a human.
  void permit(const integrations::acp_effects::permission& permission_request) {
    const auto settings = runtime_->settings.get();
    const auto& rules = settings->approvals;
    // Nobody knows what a request without a title is about: any rule for this agent can be.
    const bool is_ruled = std::any_of(rules.begin(), rules.end(), [&](const approval_rule& rule) {
      return !rule.allows && glob_fits(rule.tool, "acp:" + name_);
    });
    const bool may = permission_request.title.empty()
                         ? !is_ruled
                         : rule_for(rules, "acp:" + name_, permission_request.title).empty();
    const std::string wanted = may ? "allow_once" : "reject_once";
    std::optional<std::string> chosen;
    for (const auto& option : permission_request.options)
      if (option.kind == wanted) chosen = option.id;
    do_with([&](auto& s) { s.permit(permission_request.number, chosen); });
  }

  void finish() {
    if (const auto done = std::exchange(done_, nullptr)) done(outcome_);
  }

  std::shared_ptr<agent_runtime> runtime_;
  std::shared_ptr<turn_port> above_;
  const actors::step_poster post_;
  const std::string name_;
  integrations::acp_session session_;
  std::string text_;
  bool is_cut_ = false;
  actors::work_end outcome_; ///< reported when the program has ended
  std::function<void(actors::work_end)> done_;
  std::shared_ptr<piped_task> task_;
};

class acp_work final : public actors::tool_work {
 public:
  acp_work(std::shared_ptr<agent_runtime> runtime, std::shared_ptr<turn_port> above, const operation_id& call,
           const agent_settings& settings, std::string task)
      : runtime_(std::move(runtime)), above_(std::move(above)), call_(call), settings_(settings),
        task_(std::move(task)) {}

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    auto request = task_for_command(settings_, task_);
    if (!request) return done({false, above_->failed_text(request.error().code, request.error().detail)});
    create_order order;
    order.by = agent_runtime::acting_for(above_->who().owner);
    order.parent = call_;
    order.name = settings_.name;
    order.title = "sub-agent " + settings_.name;
    order.task = std::move(request->spec);
    order.task.cooperative_stop = true;
    order.on_parent_end = on_parent_end::wait; // its answer is there before it has ended
    run_ = std::make_shared<acp_run>(runtime_, above_, post, settings_);
    if (is_stopped_) run_->stop();
    const auto placer = above_->who().workspaces ? above_->who().workspaces->placer(settings_) : nullptr;
    const auto writes_into = project_key(settings_, above_->who().scope);
    if (!placer) return run_->start(std::move(order), task_, nullptr, writes_into, std::move(done));
    placer->place(order.task, call_,
                  [this, post, placer, writes_into, order, done = std::move(done)](const result<task_spec>& placed) {
                    post([this, placer, writes_into, order, placed, done]() mutable {
                      if (!placed)
                        return done({false, above_->failed_text(placed.error().code, placed.error().detail)});
                      order.task = *placed;
                      run_->start(std::move(order), task_, placer, writes_into, std::move(done));
                    });
                  });
  }
  void stop(const std::string&) override {
    is_stopped_ = true;
    if (run_) run_->stop();
  }

 private:
  std::shared_ptr<agent_runtime> runtime_;
  std::shared_ptr<turn_port> above_;
  operation_id call_;
  agent_settings settings_;
  std::string task_;
  bool is_stopped_ = false;
  std::shared_ptr<acp_run> run_; ///< nullptr: not started
};

} // namespace

std::unique_ptr<actors::tool_work> make_acp_work(std::shared_ptr<agent_runtime> runtime,
                                                 std::shared_ptr<turn_port> above, const operation_id& call,
                                                 const agent_settings& settings, std::string task) {
  return std::make_unique<acp_work>(std::move(runtime), std::move(above), call, settings, std::move(task));
}

} // namespace quell::controller::turns
