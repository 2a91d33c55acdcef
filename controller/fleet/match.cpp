// Decides whether a worker fits a task at all, and writes the sentence that explains why none does.
#include <algorithm>

#include "controller/fleet/placement.hpp"

namespace quell::controller {

namespace {

bool has_labels(const requirement& need, const member& m) {
  return std::all_of(need.on.begin(), need.on.end(), [&](const auto& wanted) {
    const auto found = m.labels.find(wanted.first);
    return found != m.labels.end() && found->second == wanted.second;
  });
}

bool has_level(const requirement& need, const member& m) {
  return !need.least || (m.record.level && at_least(*m.record.level, *need.least));
}

std::string labels_text(const requirement& need) {
  std::string text;
  for (const auto& [key, value] : need.on) text += (text.empty() ? "" : " ") + key + "=" + value;
  return text;
}

std::string why_not(const requirement& need, const member& m) {
  const std::string who = "worker " + m.name();
  if (!m.record.joined_at) return who + " has not joined yet";
  if (m.leaving) return who + " is being removed";
  if (!m.reachable()) return who + " is " + std::string(name_of(m.status()));
  if (!has_labels(need, m)) return who + " does not have " + labels_text(need);
  if (!has_level(need, m)) return who + " has no containment " + std::string(name_of(*need.least));
  if (m.trouble) return who + " can start nothing now: " + m.trouble->why;
  if (need.slots > m.record.slots)
    return who + " has " + std::to_string(m.record.slots) + " slots, the task needs " + std::to_string(need.slots);
  if (m.record.drain) return who + " is draining";
  return {};
}

} // namespace

bool matches(const requirement& need, const member& m) {
  return (!need.worker || *need.worker == m.name()) && has_labels(need, m) && has_level(need, m) &&
         need.slots <= m.record.slots;
}

std::string nobody_can(const requirement& need, const roster& workers) {
  if (need.worker) {
    const auto found = workers.find(*need.worker);
    return found == workers.end() ? "no worker is called " + *need.worker : why_not(need, found->second);
  }
  // Finds the first demand that no worker meets among those that meet all earlier demands.
  bool seen = false, labels = false, level = false, size = false, connected = false;
  std::string trouble;
  for (const auto& [name, m] : workers) {
    if (!m.record.joined_at) continue;
    seen = true;
    if (!has_labels(need, m)) continue;
    labels = true;
    if (!has_level(need, m)) continue;
    level = true;
    if (m.trouble) trouble = why_not(need, m);
    if (need.slots > m.record.slots) continue;
    size = true;
    if (!m.reachable()) continue;
    connected = true;
    if (m.takes_work()) return {};
  }
  if (!seen) return workers.empty() ? "no worker is enrolled" : "no worker has joined yet";
  const std::string with = need.on.empty() ? "" : " with " + labels_text(need);
  if (!labels) return "no worker has " + labels_text(need);
  if (!level) return "no worker" + with + " has containment " + std::string(name_of(*need.least));
  if (!size && !trouble.empty()) return trouble;
  if (!size) return "no worker" + with + " has " + std::to_string(need.slots) + " slots";
  if (!connected) return "no worker" + with + " is connected";
  return "every worker" + with + " that could take it is draining";
}

} // namespace quell::controller
