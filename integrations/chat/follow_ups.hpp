// Edits and deletions of a message while its turn waits or runs.
//
// By default a deletion stops the turn, and an edit stops it and sends the new text in its place (`change_rules`); an
// edit into a cancel word is a cancel. A turn that has ended stays as it is, and so does what a cancel word stopped.
// A message that is not in memory (an earlier process handed it over, or it is old) is looked up.
//
// A change that must wait (for the decision about its message, an earlier change or the look-up) gives way to a newer
// one, unless it only stops: of any number of edits the newest counts. So memory is bounded, whatever people do.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integrations/chat/change_rules.hpp"
#include "integrations/chat/chat.hpp"
#include "integrations/chat/recent_set.hpp"

namespace quell::integrations::chat {

/// Used on a connector's thread only.
class follow_ups {
 public:
  struct tools {
    host& at;
    /// Returns a function, callable from any thread, that runs a job on the connector's thread while the connector
    /// lives.
    std::function<std::function<void(std::function<void()>)>()> runner;
    /// Drops every unsent word of this turn's reply.
    std::function<void(const operation_id&)> drop;
    std::function<void(const std::string&)> log;
    /// Submits a message whose reply answers the message with the id `answers`.
    std::function<void(incoming_message message, std::string answers)> say;
    change_rules rules{};
  };
  explicit follow_ups(tools t) : tools_(std::move(t)) {}

  /// Records that a message is being handed to quelld. False: it was handed over before. `key`: the service's own
  /// message id.
  bool message_posted(const std::string& key, const incoming_message& message);
  /// quelld has decided. A message with a transient fault is forgotten, because it is delivered again.
  void decided(const std::string& key, const result<decision>& what);

  /// `message`: its present form, with its first id. `stamp`: distinct for each edit. An edit that does not change the
  /// text does nothing. One that takes the address away (`addressed` is false now) stops the turn, and asks nothing;
  /// without `addressed` it is for whom it was.
  void edited(const std::string& key, incoming_message message, const std::string& stamp, bool is_cancel);
  /// `id`: the id with which it was handed over, in one of `scopes`.
  void deleted(const std::string& key, std::vector<scope_path> scopes, const std::string& id);

 private:
  static constexpr std::size_t most = 4096, most_looked_up = 1024, most_held_bytes = 16 << 20;

  struct change {
    std::function<void()> job{};
    bool only_stops = false; ///< and asks nothing: no later change has anything left to do
    std::string edit{};      ///< its key, if it asks something
  };
  /// A posted message, without its text.
  struct entry {
    scope_path scope{};
    person author{};
    std::optional<bool> addressed{};
    std::size_t text = 0; ///< hash of its present text
    std::optional<operation_id> turn{};
    bool is_busy = true;                  ///< its decision or a change is in progress
    std::function<void()> continuation{}; ///< run once it is not busy, before `waiting`
    change waiting{};                     ///< the same
  };
  struct look_up {
    change edit{}, deletion{}; ///< that wait for it
  };
  using held_message = std::shared_ptr<const incoming_message>;

  static entry posted(const incoming_message& message);
  void put(change& waiting, change newer);
  /// Keeps a message for a change; null, and says so, if those that are kept have too many bytes.
  held_message hold(incoming_message message);
  void add(const std::string& key, entry known);
  /// Runs the change if the message is known once it was looked up.
  void recall(const std::string& key, std::vector<scope_path> scopes, const std::string& id, change look_up::*which,
              change then);
  void recalled(const std::string& key, result<std::optional<known_message>> found);
  void release(const std::string& key);
  void stop_now(const std::string& key, const operation_id& turn, const std::string& why,
                const std::function<void()>& then);
  /// `then.job` runs once the turn is stopped.
  void stop_turn(const std::string& key, const std::string& why, change then);

  const tools tools_;
  std::map<std::string, entry> entries_;
  std::deque<std::string> order_;
  std::map<std::string, look_up> looked_up_;
  recent_set overtaken_{most}; ///< edits that gave way to newer changes, for they can be delivered again
  /// By messages of changes; shared, for a host lets go of them on its own threads.
  const std::shared_ptr<std::atomic<std::size_t>> held_bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
};

} // namespace quell::integrations::chat
