// Prepares an agent until its actor can run.
#include "actors/turns/start_agent.hpp"

#include "actors/turns/mcp_host.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/command.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

/// The parent's result for a sub-agent that did not complete: the reason, and its text so far.
std::string failed_sub_agent(const json_result_texts& texts, const agent_settings& agent,
                             const actors::turn_effects::end& how) {
  constexpr std::size_t most_said = 4 << 10;
  std::string code = "error", why = "it was stopped";
  if (how.aborted == actors::abort_reason::timeout) {
    code = "timeout";
    why = "[TIMEOUT] The sub-agent '" + agent.name + "' did not finish within the " +
          std::to_string(agent.budget.timeout.count()) +
          " ms of its budget and was stopped; what it did until then may have had an effect.";
  } else if (how.error) {
    code = how.error->code;
    why = how.error->detail;
  }
  bool was_cut = false;
  if (!how.text.empty()) why += " It had said: " + bounded_text(how.text, most_said, was_cut);
  return texts.failed(code, why);
}

} // namespace

own_outcome broken_end() {
  own_outcome end{status::failed, records::operation_error{"interrupted", "its actor broke down"}};
  end.abort_reason = "interrupted";
  return end;
}

running_agent start_agent(std::shared_ptr<agent_runtime> parts, agent_context who, actors::agent_start start,
                          std::function<void(bool broken, const std::shared_ptr<turn_port>&)> over) {
  running_agent running;
  running.port = std::make_shared<turn_port>(parts, std::move(who));
  start.port = running.port;
  start.texts = parts->texts;
  start.clock = [now = parts->core.now] { return now().boot; };
  const auto& who_runs = running.port->who();
  // The budget of a turn holds for all its agents together, so the core counts it.
  start.limits.model_calls = who_runs.is_sub_agent ? who_runs.agent.budget.model_calls : 0;
  start.limits.repetition = who_runs.agent.repetition;
  start.over = [over = std::move(over), port = std::weak_ptr<turn_port>(running.port)](bool broken) {
    if (const auto held = port.lock()) over(broken, held);
  };
  const auto calls = start.calls;
  running.port->adopt_past(start.past);
  running.port->files()->note_all(running.port->who().agent, start.so_far);
  // The actor can report before its handle is known, so the port waits for the handle.
  running.line = running.port->spawn_with([&] { return parts->spawn(std::move(start)); });
  running.port->adopt_calls(calls);
  parts->who.add_agent(running.port->who().operation, running.line);
  return running;
}

void find_tools(const std::shared_ptr<agent_runtime>& parts, const agent_settings& agent, const mcp_user& user,
                std::function<void(tool_set)> done) {
  const auto settings = parts->settings.get();
  const auto servers = mcp_servers_of(*settings, agent);
  if (servers.empty()) return done(tools_for(*settings, agent, {}));
  parts->mcp->tools(servers, user, [settings, agent, done = std::move(done)](const mcp_host::offered& of_mcp) {
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

void start_sub_agent(std::shared_ptr<agent_runtime> parts, const agent_context& above, const operation_id& call,
                     const agent_settings& settings, const std::string& task,
                     std::function<void(std::shared_ptr<actors::agent_handle>)> runs,
                     std::function<void(actors::work_end)> done) {
  const auto model = model_of(*parts->settings.get(), settings);
  if (!model)
    return done({false, parts->texts->failed("unknown_model", "there is no model " + settings.model + " configured")});
  auto context = std::make_shared<agent_context>();
  context->operation = operation_id::fresh();
  context->root = above.root;
  context->scope = above.scope;
  context->owner = above.owner;
  context->is_sub_agent = true;
  context->tree = above.tree;
  context->began = parts->core.now().boot;
  context->is_by_chat = above.is_by_chat;
  context->agent = settings;
  context->model = *model;
  // Its servers are children of the call, because the sub-agent itself is registered only when its tools are known.
  find_tools(parts, settings, {context->operation, call, context->owner}, [=](tool_set tools) {
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
      parts->mcp->user_over(context->operation);
      done({false, parts->texts->failed(made.error().error.code, made.error().error.detail)});
    };
    // Starts at once, like a turn: a stop must find it.
    const auto starts = [=](const outcome<created>& made) {
      if (!made) return;
      actors::agent_start start;
      start.so_far = {user_message{task}};
      const auto over = [=](bool broken, const std::shared_ptr<turn_port>& port) {
        const auto end = port->ended();
        parts->mcp->user_over(port->who().operation);
        if (broken || !end) {
          parts->core.execute({commands::end_local{port->who().operation, broken_end()}, {}});
          return done({false, parts->texts->failed("interrupted", "the sub-agent broke down")});
        }
        if (end->aborted == actors::abort_reason::user)
          return done({false, parts->texts->cancelled(), true, end->usage});
        if (end->aborted)
          return done({false, failed_sub_agent(*parts->texts, port->who().agent, *end), false, end->usage});
        done({true, ok_result(turn_result(end->text, end->usage, port->tool_calls(), end->why)), false, end->usage});
      };
      runs(start_agent(parts, *context, std::move(start), over).line);
    };
    parts->core.execute({std::move(step), refused, starts});
  });
}

} // namespace quell::controller::turns
