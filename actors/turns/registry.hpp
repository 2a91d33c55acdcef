// Maps each operation of this process to the agent that runs it, or to the watcher of its start and end. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/agent/start.hpp"
#include "controller/local_operations.hpp"

namespace quell::controller::turns {

/// Waits for an operation that another component carries out. Called on a controller thread: must only pass the call
/// on.
class operation_watcher {
 public:
  virtual ~operation_watcher() = default;
  virtual void started(const std::string& worker) = 0;
  virtual void ended(const ended_operation& e) = 0;
};

actors::abort_reason abort_reason_of(stop_cause cause);

/// A stop of a tool's call ends that call alone; a turn cannot continue without its model call.
enum class call_of : std::uint8_t { tool, model };

class operation_registry {
 public:
  /// Registers the agent that is this turn or sub-agent.
  void add_agent(const operation_id& id, std::shared_ptr<actors::agent_handle> agent);
  /// Registers a call, or a model call, of that agent.
  /// `port`: judges the call anew if a human changes its input.
  void add_call(const operation_id& id, std::shared_ptr<actors::agent_handle> of, call_of what,
                std::weak_ptr<actors::agent_port> port = {});
  void add_watcher(const operation_id& id, std::shared_ptr<operation_watcher> watcher);
  void drop(const operation_id& id);
  /// The agent that is this turn or sub-agent; nullptr: there is none, or it is over.
  std::shared_ptr<actors::agent_handle> agent(const operation_id& id) const;
  std::shared_ptr<actors::agent_handle> agent_of_call(const operation_id& id) const;
  std::shared_ptr<actors::agent_port> port_of_call(const operation_id& id) const;

  // Notices from the controller.
  void signal(const actor_signal& s);
  void started(const operation_id& id, const std::string& worker);
  void ended(const ended_operation& e);

  /// All agents, once each, for the end of the process.
  std::vector<std::shared_ptr<actors::agent_handle>> agents() const;
  /// At the end of the process: forgets all entries, which can refer back to this object.
  void forget_all();

 private:
  struct entry {
    enum class part { itself, call, model_call, watched } what = part::watched;
    std::shared_ptr<actors::agent_handle> agent;
    std::shared_ptr<operation_watcher> watcher;
    std::weak_ptr<actors::agent_port> port;
  };
  entry find(const operation_id& id) const;
  void put(const operation_id& id, entry what);

  mutable std::mutex guard_;
  std::unordered_map<operation_id, entry> entries_;
};

} // namespace quell::controller::turns
