// Takes the end of mount namespaces off the way of a stop.
//
// The last process to leave a mount namespace unmounts everything in it and then waits for all processors of the
// machine (synchronize_rcu_expedited) before anybody can see that it is dead. When a hundred tasks died at once, these
// waits were most of the time until the last one was gone. So the guardian keeps a reference to the namespace of each
// task that it stops. When the task is proven dead, a short-lived child gets the reference, lets go, and waits. The
// namespace holds no process by then, so nothing that is proven depends on it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "worker/guardian/client.hpp"

namespace quell::worker {

class lingering_mounts {
 public:
  /// A reference to the mount namespace of this process; none if it cannot be had: then its last process waits.
  static unique_fd hold(pid_t process);
  void add(unique_fd held);
  bool empty() const { return held_.empty(); }
  /// Lets go of all of them in a child of this process, which exits by itself; here, if none can be made.
  void let_go();

 private:
  std::vector<unique_fd> held_;
};

} // namespace quell::worker
