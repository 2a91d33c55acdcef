// Prepares an agent until its actor can run.
#include "actors/turns/start_agent.hpp"

#include "actors/turns/guarded_step.hpp"
#include "actors/turns/mcp_host.hpp"
#include "actors/turns/questions_by_chat.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/begin_sub_agent.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/end_local.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

/// The parent's result for a sub-agent that did not complete: the reason, and its text so far.
std::string failed_sub_agent(const json_result_texts& texts, const agent_settings& agent,
                             const actors::turn_effects::end& how) {
  constexpr std::size_t most_reason_bytes = 4 << 10;
  std::string code(name_of(failure_code::error)), why = "it was stopped";
  if (how.aborted == actors::abort_reason::timeout) {
    code = name_of(failure_code::timeout);
    why = "[TIMEOUT] The sub-agent '" + agent.name + "' did not finish within the " +
          std::to_string(agent.budget.timeout.count()) +
          " ms of its budget and was stopped; what it did until then may have had an effect.";
  } else if (how.error) {
    code = how.error->code;
    why = how.error->detail;
  }
  bool was_cut = false;
  if (!how.text.empty()) why += " It had said: " + bounded_text(how.text, most_reason_bytes, was_cut);
  return texts.failed(code, why);
}

} // namespace

own_outcome broken_end() {
  own_outcome end{status::failed, records::own_error(failure_code::interrupted, "its actor broke down")};
  end.abort_reason = "interrupted";
  return end;
}

agent_context context_below(const agent_context& above, const operation_id& sub_agent, const agent_settings& settings,
                            integrations::model_settings model) {
  agent_context context;
  context.operation = sub_agent;
  context.root = above.root;
  context.scope = above.scope;
  context.owner = above.owner;
  context.tenant = above.tenant;
  context.is_sub_agent = true;
  context.tree = above.tree;
  context.is_by_chat = above.is_by_chat;
  context.is_below_default = is_default_or_below(above);
  context.workspaces = above.workspaces;
  context.agent = settings;
  context.model = std::move(model);
  return context;
}

running_agent start_agent(std::shared_ptr<agent_runtime> runtime, agent_context who, actors::agent_start start,
                          std::function<void(actors::agent_exit, const std::shared_ptr<turn_port>&)> over,
                          kept_context context, resume_plan resumed, std::optional<first_model_call> opened) {
  running_agent running;
  running.port = std::make_shared<turn_port>(runtime, std::move(who));
  start.port = running.port;
  start.texts = runtime->texts;
  start.clock = [now = runtime->core.now] { return now().boot; };
  const auto& who_runs = running.port->who();
  // The budget of a turn holds for all its agents together, so the core counts it.
  start.limits.model_calls = who_runs.is_sub_agent ? who_runs.agent.budget.model_calls : 0;
  start.limits.repetition = who_runs.agent.repetition;
  // Holds the port: an actor that dies lets go of it before its death is reported.
  start.over = [over = std::move(over), port = running.port](actors::agent_exit how) { over(how, port); };
  const auto calls = start.calls;
  running.port->adopt_past(start.past);
  running.port->adopt_context(std::move(context));
  if (opened) running.port->adopt_first_call(std::move(*opened));
  running.port->adopt_works(std::move(resumed.adopted), std::move(resumed.names));
  running.port->add_usage_below(resumed.below);
  running.port->files()->note_all(running.port->who().agent, start.so_far);
  // The actor can report before its handle is known, so the port waits for the handle.
  running.handle = running.port->spawn_with([&] { return runtime->spawn(std::move(start)); });
  running.port->adopt_calls(calls);
  if (opened) running.port->expect_first_call();
  runtime->registry.add_agent(running.port->who().operation, running.handle);
  return running;
}

void find_tools(const std::shared_ptr<agent_runtime>& runtime, const agent_settings& agent, const mcp_user& user,
                std::function<void(tool_set)> done) {
  const auto settings = runtime->settings.get();
  const auto servers = mcp_servers_of(*settings, agent);
  if (servers.empty()) return done(tools_for(*settings, agent, {}));
  runtime->mcp->tools(servers, user, [settings, agent, done = std::move(done)](const mcp_host::offered& of_mcp) {
    auto tools = tools_for(*settings, agent, of_mcp.tools);
    if (!of_mcp.note.empty()) tools.note += (tools.note.empty() ? "" : "; ") + of_mcp.note;
    for (const auto& name : of_mcp.logins)
      tools.notice += "\n\nThe tools of the MCP server " + name +
                      " cannot be used now: it wants a login. If they are needed, tell the user that an admin "
                      "must run `quell mcp login " +
                      name + "`.";
    done(std::move(tools));
  });
}

actors::work_end end_of_sub_agent(const std::shared_ptr<agent_runtime>& runtime, actors::agent_exit how,
                                  turn_port& port) {
  const auto end = port.ended();
  runtime->mcp->user_over(port.who().operation);
  if (how == actors::agent_exit::died || !end) {
    port.close_left_model_call();
    using reach = commands::end_local::reach;
    runtime->core.execute({commands::end_local{port.who().operation, broken_end(), reach::with_its_calls}, {}});
    return {false, runtime->texts->failed(failure_code::interrupted, "the sub-agent broke down")};
  }
  if (end->aborted == actors::abort_reason::user) return {false, runtime->texts->cancelled(), true, end->usage};
  if (end->aborted) return {false, failed_sub_agent(*runtime->texts, port.who().agent, *end), false, end->usage};
  return {true, ok_result(turn_result(end->text, end->usage, port.tool_calls(), end->why)), false, end->usage};
}

void start_sub_agent(std::shared_ptr<agent_runtime> runtime, const agent_context& above, const operation_id& call,
                     const agent_settings& settings, const std::string& task,
                     std::function<void(std::shared_ptr<actors::agent_handle>)> runs,
                     std::function<void(actors::work_end)> done) {
  const auto model = model_of(*runtime->settings.get(), settings);
  if (!model)
    return done({false, runtime->texts->failed(failure_code::unknown_model,
                                               "there is no model " + settings.model + " configured")});
  auto context = std::make_shared<agent_context>(context_below(above, operation_id::fresh(), settings, *model));
  context->began = runtime->core.now().boot;
  // Its servers are children of the call, because the sub-agent itself is registered only when its tools are known.
  const auto begin = [=](tool_set tools) {
    context->agent.instructions += tools.notice;
    context->tools = std::move(tools);
    commands::begin_sub_agent step;
    step.id = context->operation;
    step.order.by = agent_runtime::acting_for(context->owner);
    step.order.kind = kind::sub_agent;
    step.order.parent = call;
    step.order.name = settings.name;
    step.order.title = std::string(utf8_prefix(task, 80));
    step.order.timeout = settings.budget.timeout;
    step.task.id = message_id::fresh();
    step.task.scope = context->scope;
    step.task.turn = context->operation;
    step.task.aside = true;
    step.task.author = context->owner;
    step.task.text = task;
    const auto refused = [=](const outcome<created>& made) {
      if (made) return;
      runtime->mcp->user_over(context->operation);
      done({false, runtime->texts->failed(std::string(text_of(made.error().error.code)), made.error().error.detail)});
    };
    // Starts at once, like a turn: a stop must find it.
    const auto starts = [=](const outcome<created>& made) {
      if (!made) return;
      actors::agent_start start;
      start.so_far = {user_message{task}};
      const auto over = [=](actors::agent_exit how, const std::shared_ptr<turn_port>& port) {
        done(end_of_sub_agent(runtime, how, *port));
      };
      runs(start_agent(runtime, *context, std::move(start), over).handle);
    };
    runtime->core.execute({std::move(step), refused, starts});
  };
  find_tools(runtime, settings, {context->operation, call, context->owner}, [=](tool_set tools) {
    run_guarded(
        "the start of a sub-agent of call " + call.text(), [&] { begin(std::move(tools)); },
        [&] {
          runtime->mcp->user_over(context->operation);
          done({false, runtime->texts->failed(failure_code::interrupted, "the sub-agent broke down")});
        });
  });
}

} // namespace quell::controller::turns
