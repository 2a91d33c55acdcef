// Builds tasks: exec as `sh -c` or argv, the file tools as quell-tool, a command that is an agent as itself.
#include "actors/turns/tool_task.hpp"

#include <nlohmann/json.hpp>

#include "actors/turns/tool_input.hpp"
#include "protocol/workspace_place.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::size_t most_command_bytes = 128 << 10, most_task_variables = 64, most_task_labels = 64,
                      most_path_bytes = 4096;
/// quell-tool requires an absolute path; without a configured workspace it gets the directory in which it starts.
constexpr const char* own_directory = "/proc/self/cwd";

tl::unexpected<fault> wrong_task(const std::string& what) { return failure(failure_code::invalid_input, what); }

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

std::size_t bytes_of(const std::vector<std::string>& command) {
  std::size_t bytes = 0;
  for (const auto& argument : command) bytes += argument.size() + 1;
  return bytes;
}

/// A task with this agent's placement.
task_spec task_of(const agent_settings& agent) {
  task_spec spec;
  spec.cwd = agent.workspace;
  if (agent.mode != workspace_mode::shared) spec.cwd = workspace_place::unplaced({});
  spec.worker = agent.worker;
  spec.user = agent.user;
  spec.on = agent.on;
  spec.leader_exit = on_leader_exit::wait;
  return spec;
}

/// A call can choose only among the workers that its agent may use.
result<void> choose_worker(task_spec& spec, const json& input) {
  if (const auto worker = input.find("worker"); worker != input.end()) {
    const auto& name = worker->get_ref<const std::string&>();
    if (name.empty() || name.size() > 128 || has_nul(name)) return wrong_task("`worker` must be the name of a worker");
    if (spec.worker && *spec.worker != name)
      return wrong_task("`worker`: this agent works on " + *spec.worker + " only; leave it out");
    spec.worker = name;
  }
  if (const auto labels = input.find("on"); labels != input.end()) {
    for (const auto& [key, value] : labels->items()) {
      const auto& text = value.get_ref<const std::string&>();
      if (key.empty() || key.size() > 128 || text.empty() || text.size() > 128 || has_nul(key) || has_nul(text))
        return wrong_task("`on`: keys and values have 1 to 128 bytes");
      const auto [at, is_new] = spec.on.emplace(key, text);
      if (!is_new && at->second != text)
        return wrong_task("`on`: this agent works on workers with " + key + "=" + at->second + " only; leave it out");
    }
    if (spec.on.size() > most_task_labels)
      return wrong_task("`on` has more than " + std::to_string(most_task_labels) + " labels");
  }
  return {};
}

result<void> take_environment(task_spec& spec, const json& input) {
  const auto env = input.find("env");
  if (env == input.end()) return {};
  if (env->size() > most_task_variables)
    return wrong_task("`env` has more than " + std::to_string(most_task_variables) + " variables");
  for (const auto& [name, value] : env->items()) {
    const auto& text = value.get_ref<const std::string&>();
    if (name.empty() || name.size() > 256 || name.find('=') != std::string::npos || has_nul(name))
      return wrong_task("`env` has a name that no variable can have");
    if (name.starts_with("QUELL_"))
      return wrong_task("`env`: variables QUELL_… are set by quell; leave " + name + " out");
    if (text.size() > most_command_bytes || has_nul(text))
      return wrong_task("`env." + name + "` is too long or has a NUL");
    spec.env.emplace(name, text);
  }
  return {};
}

result<void> take_directory(task_spec& spec, const json& input) {
  const auto cwd = input.find("cwd");
  if (cwd == input.end()) return {};
  const auto& path = cwd->get_ref<const std::string&>();
  if (path.empty()) return {};
  if (path.size() > most_path_bytes || has_nul(path)) return wrong_task("`cwd` is not a path");
  if (spec.cwd == workspace_place::unplaced({})) {
    spec.cwd = workspace_place::unplaced(path);
  } else if (path.front() == '/') {
    spec.cwd = path;
  } else if (spec.cwd) {
    spec.cwd = *spec.cwd + (spec.cwd->ends_with('/') ? "" : "/") + path;
  } else {
    return wrong_task("`cwd` must be absolute, as this agent has no workspace; or begin the command with cd");
  }
  return {};
}

result<task_spec> exec_task(const agent_settings& agent, const json& input) {
  auto spec = task_of(agent);
  spec.leader_exit = on_leader_exit::kill;
  if (const auto line = input.find("command"); line != input.end()) {
    spec.command = {"sh", "-c", line->get<std::string>()};
  } else {
    spec.command = input.at("argv").get<std::vector<std::string>>();
    if (spec.command.empty() || spec.command[0].empty()) return wrong_task("`argv` must begin with a program");
  }
  for (const auto& argument : spec.command)
    if (has_nul(argument)) return wrong_task("a command cannot have a NUL character in it");
  if (bytes_of(spec.command) > most_command_bytes)
    return wrong_task("the command has more than " + std::to_string(most_command_bytes) +
                      " bytes; `write` a script into the workspace and run that");
  if (auto done = choose_worker(spec, input); !done) return tl::unexpected(done.error());
  if (auto done = take_environment(spec, input); !done) return tl::unexpected(done.error());
  if (auto done = take_directory(spec, input); !done) return tl::unexpected(done.error());
  return spec;
}

task_request file_task(const tool_definition& tool, const agent_settings& agent, json input,
                       const std::string& if_version) {
  task_request r;
  r.spec = task_of(agent);
  // quell-tool opens the workspace by itself and reports a missing one.
  if (agent.mode == workspace_mode::shared) r.spec.cwd.reset();
  r.spec.command = {"quell-tool"};
  r.spec.stdin_open = true;
  json request{
      {"tool", tool.offer.name}, {"workspace", agent.workspace.value_or(own_directory)}, {"input", std::move(input)}};
  if (tool.offer.name == "read") {
    request["limits"] = {{"media_bytes", most_shown_file}}; // ignored by a quell-tool that does not know it
    r.most_output = most_shown_file / 3 * 4 + r.most_output;
  }
  if (!if_version.empty()) request["if_version"] = if_version; // ignored by a quell-tool that does not know it
  r.stdin_text = request.dump(-1, ' ', false, json::error_handler_t::replace);
  return r;
}

} // namespace

result<task_request> task_for_call(const tool_definition& tool, const agent_settings& agent,
                                   const std::string& input_json, const std::string& if_version) {
  if (tool.how != tool_definition::runs::task)
    return failure(error_code::internal, tool.offer.name + " does not run as a task");
  auto read = read_input(tool, input_json);
  if (!read) return tl::unexpected(read.error());
  auto input = json::parse(read->json, nullptr, false);
  task_request request;
  if (tool.offer.name == "exec") {
    auto spec = exec_task(agent, input);
    if (!spec) return tl::unexpected(spec.error());
    request.spec = std::move(*spec);
  } else {
    request = file_task(tool, agent, std::move(input), if_version);
  }
  request.background = tool.offer.name == "exec" && json::parse(read->json, nullptr, false).value("background", false);
  request.timeout = request.background ? read->task_timeout : read->timeout;
  return request;
}

task_request project_task(const agent_settings& agent) {
  tool_definition tool;
  tool.offer.name = "project";
  return file_task(tool, agent, json::object(), {});
}

result<task_request> task_for_command(const agent_settings& agent, const std::string& prompt) {
  constexpr std::string_view mark = "{prompt}";
  if (!agent.is_command()) return failure(error_code::internal, "agent " + agent.name + " is not a command");
  task_request r;
  r.spec = task_of(agent);
  r.timeout = agent.budget.timeout;
  bool in_arguments = false;
  for (const auto& argument : agent.command) {
    std::string text;
    std::size_t at = 0;
    for (auto next = argument.find(mark); next != std::string::npos && !agent.acp; next = argument.find(mark, at)) {
      text.append(argument, at, next - at).append(prompt);
      at = next + mark.size();
      in_arguments = true;
    }
    r.spec.command.push_back(text.append(argument, at));
  }
  if (in_arguments && has_nul(prompt)) return wrong_task("the task has a NUL character in it");
  if (bytes_of(r.spec.command) > most_command_bytes)
    return wrong_task("the task is too long for the command line of agent " + agent.name + " (" +
                      std::to_string(prompt.size()) + " bytes); give it a shorter one");
  if (!in_arguments) r.spec.stdin_open = true;
  if (!in_arguments && !agent.acp) r.stdin_text = prompt;
  return r;
}

} // namespace quell::controller::turns
