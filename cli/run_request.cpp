// Builds the body of a create.
#include "cli/run_request.hpp"

#include <nlohmann/json.hpp>
#include <sstream>

#include "protocol/base64.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli {
namespace {

constexpr std::size_t most_secret_bytes = 64 * 1024;

nlohmann::json pairs(const strings& words) {
  auto out = nlohmann::json::object();
  for (const auto& word : words) {
    const auto equals = word.find('=');
    out[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return out;
}

/// Reads K=V lines, also `export K=V`; skips empty lines and lines that begin with #. Values are taken literally.
answer<bool> read_env_file(const std::string& path, nlohmann::json& out) {
  auto text = file_text(path, 1024 * 1024);
  if (!text) return refuse(local_code::usage, "--env-file " + path + ": " + text.error().detail);
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("export ") || line.starts_with("export\t")) line.erase(0, line.find_first_not_of(" \t", 6));
    const auto equals = line.find('=');
    const auto space = line.find_first_of(" \t");
    if (equals == 0 || equals == std::string::npos || space < equals)
      // The message does not show the line, which can contain a secret.
      return refuse(local_code::usage, "--env-file " + path + " line " + std::to_string(number) + " is not K=V");
    out[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return true;
}

answer<nlohmann::json> environment_of(const run_options& o, const environment& env) {
  auto out = nlohmann::json::object();
  if (o.env_file)
    if (auto read = read_env_file(*o.env_file, out); !read) return tl::unexpected(read.error());
  for (const auto& word : o.env) {
    const auto equals = word.find('=');
    if (equals != std::string::npos) {
      out[word.substr(0, equals)] = word.substr(equals + 1);
      continue;
    }
    const auto value = env(word.c_str());
    if (!value)
      return refuse(local_code::usage, "--env " + word + ": it is not set here; write --env " + word + "=VALUE");
    out[word] = *value;
  }
  return out;
}

/// The caller reads each file here; base64, because JSON carries text only.
answer<nlohmann::json> secrets_of(const run_options& o) {
  auto out = nlohmann::json::object();
  for (const auto& word : o.secrets) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals), file = word.substr(equals + 1);
    if (file.empty())
      return refuse(local_code::usage, "--secret " + name + ": name a file, as in --secret " + name + "=FILE");
    auto text = file_text(file, most_secret_bytes);
    if (!text) return refuse(local_code::usage, "--secret " + name + ": " + text.error().detail);
    if (text->empty()) return refuse(local_code::usage, "--secret " + name + ": " + file + " is empty");
    out[name] = {{"base64", base64(*text)}};
  }
  return out;
}

/// Recursion is shallow: a create has three levels.
bool all_utf8(const nlohmann::json& value) {
  if (value.is_string()) return is_utf8(value.get_ref<const std::string&>());
  if (value.is_object())
    for (const auto& [key, item] : value.items())
      if (!is_utf8(key) || !all_utf8(item)) return false;
  if (value.is_array())
    for (const auto& item : value)
      if (!all_utf8(item)) return false;
  return true;
}

template <class Value>
nlohmann::json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json or_null(const std::optional<milliseconds>& value) {
  return value ? nlohmann::json(value->count()) : nlohmann::json();
}

} // namespace

answer<nlohmann::json> run_request(const run_options& o, const std::string& id, const std::string& parent,
                                   const std::optional<std::string>& scope_without_parent, const environment& env,
                                   const caller& where) {
  auto variables = environment_of(o, env);
  if (!variables) return tl::unexpected(variables.error());
  nlohmann::json task{{"command", o.command}, {"env", std::move(*variables)}, {"pty", o.pty}, {"stdin", o.input}};
  if (o.cwd)
    task["cwd"] = *o.cwd;
  else if (!where.directory.empty())
    task.update({{"default_cwd", where.directory}, {"default_cwd_host", where.host}});
  if (!o.on.empty()) task["on"] = pairs(o.on);
  const auto set = [](nlohmann::json& object, const char* name, nlohmann::json value) {
    if (!value.is_null()) object[name] = std::move(value);
  };
  set(task, "stop_signal", or_null(o.stop_signal));
  set(task, "worker", or_null(o.worker));
  set(task, "slots", or_null(o.slots));
  set(task, "on_leader_exit", or_null(o.on_leader_exit));
  set(task, "lease_ms", or_null(o.lease));
  set(task, "containment", or_null(o.containment));
  set(task, "user", or_null(o.user));
  set(task, "memory_bytes", or_null(o.memory));
  set(task, "pids", or_null(o.pids));
  set(task, "cpu", or_null(o.cpu));
  auto secrets = secrets_of(o);
  if (!secrets) return tl::unexpected(secrets.error());
  if (!secrets->empty()) task["secrets"] = std::move(*secrets);

  nlohmann::json body{{"id", id}, {"kind", "task"}, {"task", std::move(task)}, {"parent", nullptr}};
  if (!parent.empty()) body["parent"] = parent;
  set(body, "scope", or_null(o.scope ? o.scope : parent.empty() ? scope_without_parent : std::nullopt));
  set(body, "title", or_null(o.title));
  set(body, "timeout_ms", or_null(o.timeout));
  set(body, "grace_ms", or_null(o.grace));
  set(body, "on_parent_end", or_null(o.on_parent_end));
  set(body, "supersede", or_null(o.supersede));
  if (!o.labels.empty()) body["labels"] = pairs(o.labels);
  if (!all_utf8(body))
    return refuse(local_code::usage,
                  "the command, the environment or a label is not valid UTF-8: JSON cannot carry it. Put it "
                  "into a script on the worker.");
  return body;
}

} // namespace quell::cli
