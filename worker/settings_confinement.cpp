// Reads the settings for sandbox, user and limits of tasks.
#include "worker/settings_confinement.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "protocol/duration.hpp"
#include "worker/guardian/sandbox.hpp"

namespace quell::worker {
namespace {

constexpr std::size_t most_names = 64;
constexpr std::uint32_t default_pids = 4096;
constexpr std::uint64_t least_memory = 1024 * 1024;

/// Capabilities that package managers and builds of root need for the machine's files, nested workers for stopping
/// tasks of other users, and servers for listening below 1024. None of them gives access to the kernel, the network's
/// settings or other processes.
constexpr auto default_capabilities = std::to_array<const char*>(
    {"chown", "dac_override", "fowner", "fsetid", "kill", "net_bind_service", "setgid", "setuid"});

/// Leaves enough for the machine itself and for quell.
std::uint64_t default_memory() {
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return 0;
  return static_cast<std::uint64_t>(machine.totalram) * machine.mem_unit / 10 * 9;
}

std::string set_list(std::optional<std::vector<std::string>>& to, confinement_value v, bool capabilities) {
  if (!v.list || v.list->size() > most_names) return "must be a list of at most 64 names";
  for (const auto& name : *v.list) {
    if (capabilities && !capability_bit(name))
      return "has \"" + name.substr(0, 64) + "\", which is not a capability; write it as \"chown\"";
    if (!capabilities && (!name.starts_with('/') || name.size() > 4096)) return "must hold absolute paths";
  }
  to = std::move(v.list);
  return {};
}

std::string set_limit(settings_layer& s, std::string_view key, const confinement_value& v) {
  const auto bytes = v.text ? parse_size(*v.text) : parse_size(v.number ? std::to_string(*v.number) : "");
  if (key == "worker.workspaces_per_guild") {
    if (!bytes) return "must be a size such as \"20GiB\"; 0 for no limit";
    s.workspaces_per_guild = *bytes;
  } else if (key == "worker.memory") {
    if (!bytes || (*bytes != 0 && *bytes < least_memory))
      return "must be a size such as \"4GiB\", at least 1MiB, or 0 for no limit";
    s.memory_bytes = *bytes;
  } else if (key == "worker.pids") {
    if (!v.number || *v.number < 0 || *v.number > 4'194'304)
      return "must be a whole number up to 4194304; 0 for no limit";
    s.pids = static_cast<std::uint32_t>(*v.number);
  } else {
    double processors = v.number ? static_cast<double>(*v.number) : -1;
    if (v.text && !v.number) {
      const auto [end, error] = std::from_chars(v.text->data(), v.text->data() + v.text->size(), processors);
      if (error != std::errc{} || end != v.text->data() + v.text->size()) processors = -1;
    }
    if (!(processors >= 0 && processors <= 4096) || (processors != 0 && processors < 0.01))
      return "must be a number of processors such as \"1.5\", at least 0.01; 0 for no limit";
    s.cpu_millis = static_cast<std::uint32_t>(processors * 1000 + 0.5);
  }
  return {};
}

} // namespace

confinement_value read_confinement(const std::string& text) {
  confinement_value v;
  v.text = text;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) v.number = number;
  return v;
}

bool is_confinement_key(std::string_view key) {
  static constexpr auto keys = std::to_array<std::string_view>(
      {"worker.user", "worker.sandbox", "worker.capabilities", "worker.hide", "worker.workspaces",
       "worker.workspaces_per_guild", "worker.memory", "worker.pids", "worker.cpu"});
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::string set_confinement(settings_layer& s, std::string_view key, confinement_value v) {
  if (key == "worker.capabilities") return set_list(s.capabilities, std::move(v), true);
  if (key == "worker.hide") return set_list(s.hide, std::move(v), false);
  if (key == "worker.user") {
    if (!v.text || v.text->empty() || v.text->size() > 32) return "must be the name of a user, 1 to 32 characters";
    s.user = std::move(v.text);
    return {};
  }
  if (key == "worker.workspaces") {
    if (!v.text || !v.text->starts_with('/') || v.text->size() < 2 || v.text->size() > 2048)
      return "must be the absolute path of a directory, such as \"/srv/workspaces\"";
    s.workspaces = std::move(v.text);
    return {};
  }
  if (key == "worker.sandbox") {
    if (v.text != "on" && v.text != "off") return "must be \"on\" or \"off\"";
    s.sandbox = v.text == "on";
    return {};
  }
  return set_limit(s, key, v);
}

void fill_in_sandbox(settings_layer& s) {
  if (!s.sandbox) s.sandbox = true;
  if (!s.capabilities) s.capabilities.emplace(default_capabilities.begin(), default_capabilities.end());
  if (!s.hide) s.hide.emplace();
  if (!s.memory_bytes) s.memory_bytes = *s.sandbox ? default_memory() : 0;
  if (!s.pids) s.pids = *s.sandbox ? default_pids : 0;
  if (!s.cpu_millis) s.cpu_millis = 0;
}

toml::table confinement_as_toml(const settings_layer& s) {
  const auto list = [](const std::optional<std::vector<std::string>>& names) {
    toml::array out;
    if (names)
      for (const auto& name : *names) out.push_back(name);
    return out;
  };
  toml::table out;
  out.insert("user", s.user.value_or(""));
  out.insert("sandbox", s.sandbox.value_or(true) ? "on" : "off");
  out.insert("capabilities", list(s.capabilities));
  out.insert("hide", list(s.hide));
  out.insert("workspaces", s.workspaces.value_or(""));
  out.insert("workspaces_per_guild", static_cast<std::int64_t>(s.workspaces_per_guild.value_or(0)));
  out.insert("memory", static_cast<std::int64_t>(s.memory_bytes.value_or(0)));
  out.insert("pids", static_cast<std::int64_t>(s.pids.value_or(0)));
  const auto millis = s.cpu_millis.value_or(0);
  out.insert("cpu", std::to_string(millis / 1000) + "." + std::to_string(1000 + millis % 1000).substr(1));
  return out;
}

} // namespace quell::worker
