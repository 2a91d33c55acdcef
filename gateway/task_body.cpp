// Checks the task of a create, field by field.
#include "gateway/task_body.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "protocol/encoding.hpp"
#include "protocol/user_name.hpp"

namespace quell::controller::http {

namespace {

constexpr std::size_t max_command_bytes = 128 * 1024;
constexpr std::size_t max_variables = 1000;
constexpr std::size_t max_secrets = 16;
constexpr std::size_t max_secret_bytes = 64 * 1024;
constexpr std::uint64_t min_memory_bytes = 1024 * 1024;
constexpr std::size_t max_environment_bytes = 256 * 1024;
constexpr auto stop_signals = std::to_array<std::string_view>({"TERM", "INT", "HUP", "QUIT", "USR1", "USR2"});

std::vector<std::string> read_command(body_reader& fields) {
  std::vector<std::string> command;
  const auto* value = fields.take("command");
  if (!value) {
    fields.complain("command", "is missing: give the program and its arguments as a list");
    return command;
  }
  if (!value->is_array() || value->empty()) {
    fields.complain("command", value->is_array() ? "must not be empty" : "must be a list of strings");
    return command;
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const auto& word = (*value)[i];
    if (!word.is_string() || word.get_ref<const std::string&>().find('\0') != std::string::npos) {
      fields.complain("command/" + std::to_string(i), "must be a string without NUL");
      return {};
    }
    bytes += word.get_ref<const std::string&>().size() + 1;
    command.push_back(word.get<std::string>());
  }
  if (command.front().empty()) fields.complain("command/0", "the program's name must not be empty");
  if (bytes > max_command_bytes)
    fields.complain("command",
                    "is " + std::to_string(bytes) + " bytes, more than 128 KiB; pass long data in a file or on stdin");
  return command;
}

std::map<std::string, std::string> read_environment(body_reader& fields) {
  std::map<std::string, std::string> all;
  const auto* value = fields.object("env");
  if (!value) return all;
  if (value->size() > max_variables) {
    fields.complain("env", "has more than 1000 variables");
    return all;
  }
  std::size_t bytes = 0;
  for (const auto& [name, text] : value->items()) {
    const auto where = "env/" + pointer_part(name);
    if (name.empty() || name.find('=') != std::string::npos || name.find('\0') != std::string::npos ||
        name.size() > 256) {
      fields.complain(where, "the name must have 1 to 256 bytes, no = and no NUL");
    } else if (!text.is_string() || text.get_ref<const std::string&>().find('\0') != std::string::npos) {
      fields.complain(where, "must be a string without NUL");
    } else {
      bytes += name.size() + text.get_ref<const std::string&>().size() + 2;
      all.emplace(name, text.get<std::string>());
    }
  }
  if (bytes > max_environment_bytes) fields.complain("env", "is larger than 256 KiB; pass long data in a file");
  return all;
}

std::optional<std::string> read_directory(body_reader& fields, const char* name) {
  auto path = fields.text(name, 1, 4096);
  if (path && path->front() != '/') {
    fields.complain(name, "must be an absolute path");
    return std::nullopt;
  }
  return path;
}

/// Limits of the whole tree; absent or 0: the worker's.
void read_limits(body_reader& fields, task_spec& task) {
  if (const auto bytes = fields.number("memory_bytes", 0, max_seq)) {
    task.memory_bytes = *bytes;
    if (*bytes != 0 && *bytes < min_memory_bytes)
      fields.complain("memory_bytes", "must be at least 1048576 (1 MiB); 0 = the worker's limit");
  }
  if (const auto pids = fields.number("pids", 0, 4'194'304)) task.pids = static_cast<std::uint32_t>(*pids);
  const auto* cpu = fields.take("cpu");
  if (!cpu) return;
  const double processors = cpu->is_number() ? cpu->get<double>() : -1;
  if (!(processors >= 0 && processors <= 4096) || (processors > 0 && processors < 0.01))
    return fields.complain("cpu", "must be a number of processors such as 1.5, 0.01 to 4096; 0 = the worker's limit");
  task.cpu_millis = static_cast<std::uint32_t>(processors * 1000 + 0.5);
}

bool is_secret_name(const std::string& name) {
  const auto plain = [](unsigned char c) { return (c < 128 && std::isalnum(c)) || c == '_'; };
  return !name.empty() && name.size() <= 64 && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), plain);
}

/// A text, or `{"base64": "…"}`. Error messages never contain it.
std::optional<std::string> secret_contents(const nlohmann::json& given) {
  if (given.is_string()) return given.get<std::string>();
  const auto coded = given.is_object() && given.size() == 1 ? given.find("base64") : given.end();
  if (!given.is_object() || coded == given.end() || !coded->is_string()) return std::nullopt;
  return from_base64(coded->get_ref<const std::string&>());
}

std::map<std::string, std::string> read_secrets(body_reader& fields) {
  std::map<std::string, std::string> all;
  const auto* value = fields.object("secrets");
  if (!value) return all;
  if (value->size() > max_secrets) {
    fields.complain("secrets", "has more than 16 secrets");
    return all;
  }
  for (const auto& [name, given] : value->items()) {
    const auto where = "secrets/" + pointer_part(name);
    auto contents = secret_contents(given);
    if (!is_secret_name(name))
      fields.complain(where, "the name must have 1 to 64 of A-Z a-z 0-9 _ and begin with no digit");
    else if (!contents || contents->empty() || contents->size() > max_secret_bytes)
      fields.complain(where, "must be a text of 1 byte to 64 KiB, or {\"base64\": \"…\"} with as much");
    else
      all.emplace(name, std::move(*contents));
  }
  return all;
}

} // namespace

task_spec read_task(const nlohmann::json& object, std::vector<field_error>& errors) {
  task_spec task;
  body_reader fields(object, "/task", errors);
  task.command = read_command(fields);
  task.cwd = read_directory(fields, "cwd");
  task.env = read_environment(fields);
  task.pty = fields.flag("pty").value_or(false);
  task.stdin_open = fields.flag("stdin").value_or(false);
  if (auto signal = fields.text("stop_signal", 1, 16)) {
    if (std::find(stop_signals.begin(), stop_signals.end(), *signal) == stop_signals.end())
      fields.complain("stop_signal", "must be one of TERM, INT, HUP, QUIT, USR1, USR2 (without SIG)");
    else
      task.stop_signal = *signal;
  }
  task.worker = fields.text("worker", 1, 64);
  task.on = fields.labels("on");
  if (const auto slots = fields.number("slots", 0, 10'000)) task.slots = static_cast<std::uint32_t>(*slots);
  task.leader_exit = fields.word<on_leader_exit>("on_leader_exit").value_or(on_leader_exit::wait);
  if (const auto lease = fields.number("lease_ms", 1000, max_lease_ms))
    task.lease = milliseconds(static_cast<std::int64_t>(*lease));
  task.least_containment = fields.word<containment>("containment");
  task.default_cwd = read_directory(fields, "default_cwd");
  task.default_cwd_host = fields.text("default_cwd_host", 1, 255);
  read_limits(fields, task);
  task.secrets = read_secrets(fields);
  if (auto user = fields.text("user", 1, 32)) {
    if (!is_user_name(*user))
      fields.complain("user", "must be the name of a user on the worker");
    else
      task.user = std::move(user);
  }
  fields.finish();
  return task;
}

} // namespace quell::controller::http
