// Tasks go on without quelld; what is done here is to wait for the end, to send the rest of the input, and to keep the
// order of the writes of one file.
#include "actors/turns/adopted_work.hpp"

#include "actors/turns/ask_user.hpp"
#include "actors/turns/endings.hpp"
#include "actors/turns/live_output.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/project_reading.hpp"
#include "actors/turns/shown_file.hpp"
#include "actors/turns/sub_agent.hpp"
#include "actors/turns/task_work.hpp"
#include "actors/turns/turn_workspaces.hpp"

namespace quell::controller::turns {

namespace {

using end_maker = std::function<void(task_end, std::function<void(actors::work_end)>)>;

class adopted_task final : public actors::tool_work {
 public:
  adopted_task(std::shared_ptr<agent_runtime> runtime, task_request what, const operation_id& task, end_maker end)
      : runtime_(std::move(runtime)), what_(std::move(what)), task_(task), end_(std::move(end)) {}

  /// The call keeps this place until it ends: a later write of the file waits for it.
  void hold(std::shared_ptr<path_lanes::place> place) { place_ = std::move(place); }
  void show(std::shared_ptr<live_output> live) { live_ = std::move(live); }

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    auto run = std::make_shared<task_run>(runtime_, std::move(what_), std::move(post));
    if (live_) run->when_started([live = live_](const operation_id& task) { live->follow(task); });
    const auto place = std::make_shared<std::shared_ptr<path_lanes::place>>(std::move(place_));
    run->adopt(task_, [done = std::move(done), end = end_, live = live_, place](task_end how) {
      if (live) live->end();
      end(std::move(how), [done, place](actors::work_end result) {
        place->reset();
        done(std::move(result));
      });
    });
  }
  void stop(const std::string&) override {} // the ledger stops the task, since it lies below the call

 private:
  std::shared_ptr<agent_runtime> runtime_;
  task_request what_;
  const operation_id task_;
  const end_maker end_;
  std::shared_ptr<path_lanes::place> place_;
  std::shared_ptr<live_output> live_;
};

} // namespace

/// The task is where it was placed before the restart.
static void stays_in_workspace(task_request& request, const agent_context& who, const agent_settings& agent,
                               const records::operation_record& task) {
  request.spec.cwd = task.task.cwd;
  request.spec.worker = task.task.worker;
  if (who.workspaces) request.workspace = who.workspaces->placer(agent);
}

std::unique_ptr<actors::tool_work> adopt_task(std::shared_ptr<agent_runtime> runtime, const agent_context& who,
                                              const tool_definition& tool, const operation_id& call,
                                              const tool_call& what, const records::operation_record& task,
                                              std::shared_ptr<file_versions> files) {
  const auto file = is_file_tool(what.name) ? file_of_call(who.agent, what.input) : std::string();
  // Needed for input that the task has not read yet; the conversation gives an edit the same version again.
  auto request = task_for_call(tool, who.agent, what.input, what.name == "edit" ? files->of(file) : "");
  if (!request) request = task_request{task.task, {}, milliseconds{0}};
  stays_in_workspace(*request, who, who.agent, task);
  request->writes_into = project_written_by(what.name, who.agent, who.scope);
  const end_maker end = [runtime, scope = who.scope, tool, file, files](task_end how, auto done) {
    end_file_call(runtime, scope, tool, std::move(how), [file, files, done](actors::work_end result) {
      if (result.ok && !file.empty()) files->note(file, result.result);
      done(std::move(result));
    });
  };
  auto work = std::make_unique<adopted_task>(runtime, std::move(*request), task.id, end);
  if (!file.empty() && what.name != "read") work->hold(runtime->paths->join(lane_of(who, file)));
  if (what.name == "exec" && runtime->tell_live) work->show(std::make_shared<live_output>(runtime, who, call, what));
  return work;
}

/// A sub-agent that is a command.
static std::unique_ptr<actors::tool_work> adopt_command(std::shared_ptr<agent_runtime> runtime,
                                                        const agent_context& who, const agent_settings& settings,
                                                        const std::string& prompt,
                                                        const records::operation_record& task) {
  auto request = task_for_command(settings, prompt);
  if (!request) return make_answer({false, runtime->texts->failed(request.error().code, request.error().detail)});
  stays_in_workspace(*request, who, settings, task);
  request->writes_into = project_key(settings, who.scope);
  return std::make_unique<adopted_task>(
      runtime, std::move(*request), task.id,
      [settings, texts = runtime->texts](const task_end& end, const std::function<void(actors::work_end)>& done) {
        done(end_of_command(end, settings, *texts));
      });
}

std::unique_ptr<actors::tool_work> turn_port::adopted_work_for(const operation_id& call, const tool_call& what,
                                                               const tool_definition& tool) {
  records::operation_record row;
  std::string name;
  {
    const std::lock_guard lock(guard_);
    if (const auto named = adopted_names_.find(call); named != adopted_names_.end()) {
      name = std::move(named->second);
      adopted_names_.erase(named);
      begun_.push_back({call, what.name, runtime_->core.now().boot});
      now_.current_tool = what.name;
    }
  }
  if (!name.empty() && tool.how == tool_definition::runs::question)
    return make_ask_user_work(shared_from_this(), call, tool, what, name);
  if (!name.empty()) return runtime_->mcp->work_for(shared_from_this(), call, tool, what, name);
  {
    const std::lock_guard lock(guard_);
    const auto at = adopted_.find(call);
    if (at == adopted_.end()) return nullptr;
    row = std::move(at->second);
    adopted_.erase(at);
    begun_.push_back({call, what.name, runtime_->core.now().boot});
    now_.current_tool = what.name;
  }
  if (tool.how == tool_definition::runs::task) return adopt_task(runtime_, who_, tool, call, what, row, files_);
  if (row.kind == kind::sub_agent) return adopt_sub_agent(runtime_, shared_from_this(), call, what, row);
  const auto request = read_sub_agent_request(what.input);
  auto settings = request ? sub_agent_settings(*runtime_->settings.get(), who_.agent, *request)
                          : result<agent_settings>(tl::unexpected(request.error()));
  // The pipes to an agent that speaks ACP are gone, and with them what it would have said. The end of the call stops
  // it.
  if (settings && settings->acp) return make_answer({false, with_unknown_outcome(runtime_->texts->interrupted())});
  if (settings) return adopt_command(runtime_, who_, *settings, request->task, row);
  return make_answer({false, runtime_->texts->failed(settings.error().code, settings.error().detail)});
}

void turn_port::adopt_works(std::map<operation_id, records::operation_record> works,
                            std::map<operation_id, std::string> names) {
  const std::lock_guard lock(guard_);
  adopted_ = std::move(works);
  adopted_names_ = std::move(names);
}

} // namespace quell::controller::turns
