// Builds the environment of a task.
#include "worker/task_environment.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

namespace quell::worker {

task_environment::variables task_environment::base_of(const variables& own) {
  variables base{{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", "/"}, {"LANG", "C.UTF-8"}};
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "TMPDIR"})
    if (const auto it = own.find(name); it != own.end() && !it->second.empty()) base[name] = it->second;
  return base;
}

task_environment::task_environment(variables base, std::string tools) : base_(std::move(base)) {
  if (tools.empty()) return;
  std::string& path = base_["PATH"];
  path = path.empty() ? tools : tools + ":" + path;
}

std::vector<std::string> task_environment::of(const wire::start& order, const std::string& worker,
                                              const std::string& relay_url, const account_table::entry* as) const {
  variables all = base_;
  if (as) {
    all["HOME"] = as->home;
    all["USER"] = all["LOGNAME"] = as->name;
    all.erase("TMPDIR"); // the worker's can be inaccessible to it
  }
  for (const auto& [name, value] : order.spec.env) all[name] = value;
  int descriptor = first_secret_descriptor;
  for (const auto& [name, contents] : order.spec.secrets)
    all["QUELL_SECRET_" + name + "_FILE"] = "/proc/self/fd/" + std::to_string(descriptor++);
  all["QUELL_OPERATION"] = order.operation.text();
  all["QUELL_ROOT"] = order.root.text();
  all["QUELL_SCOPE"] = order.scope.text();
  all["QUELL_WORKER"] = worker;
  all["QUELL_GRACE_MS"] = std::to_string(order.grace.count());
  all["QUELL_URL"] = relay_url;
  all.erase("QUELL_DEADLINE");
  if (order.deadline) all["QUELL_DEADLINE"] = rfc3339(*order.deadline);
  all.erase("QUELL_TOKEN");
  if (!order.token.empty()) all["QUELL_TOKEN"] = order.token;

  std::vector<std::string> list;
  list.reserve(all.size());
  for (const auto& [name, value] : all) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) continue;
    if (value.find('\0') != std::string::npos) continue;
    list.push_back(name + "=" + value);
  }
  return list;
}

std::string rfc3339(wall_time at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const std::time_t t = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts{};
  ::gmtime_r(&t, &parts);
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>((at - seconds).count()));
  return text.data();
}

} // namespace quell::worker
