// The guarantees that each level cannot give.
#include "cli/containment_limits.hpp"

namespace quell::cli {

std::vector<std::string> limits_of(std::string_view level) {
  const std::string outside =
      "work that a task hands to another daemon (at, systemd, docker, a database) is outside every containment";
  if (level == "cgroup+pidns") return {outside};
  if (level == "pidns") return {"no cgroup: the processes are counted and killed through the namespace alone", outside};
  if (level == "cgroup") return {"a task of the same user id can move itself out of its cgroup", outside};
  if (level == "group")
    return {"a process that forks again and again faster than it is looked for may win",
            "a process that leaves its session is found only as a descendant of its task's subreaper", outside};
  return {};
}

} // namespace quell::cli
