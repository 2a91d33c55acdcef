// What becomes of a message after it was said: its author edits or deletes it while its turn waits or runs.
//
// A deletion stops the turn. An edit stops it and says the other words in its place; an edit into a word to stop is
// one. What has ended stays as it is.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "integrations/chat/chat.hpp"

namespace quell::integrations::chat {

/// Belongs to a connector's thread.
class follow_ups {
 public:
  struct tools {
    host& at;
    /// A function for any thread, which runs a job on the connector's thread while the connector lives.
    std::function<std::function<void(std::function<void()>)>()> runner;
    /// Not one word more of this turn's reply.
    std::function<void(const operation_id&)> drop;
    std::function<void(const std::string&)> log;
    /// Says a message, whose reply answers the one of that id.
    std::function<void(said message, std::string answers)> say;
  };
  explicit follow_ups(tools t) : tools_(std::move(t)) {}

  /// A message is handed to quelld. False: it was before. `key`: the service's own name of the message.
  bool said_now(const std::string& key, const said& message);
  /// quelld has decided. What may pass by is forgotten: it comes again.
  void decided(const std::string& key, const result<decision>& what);

  /// `message`: as it is now, with its first id. `stamp`: another for each edit. Edits that change no word do nothing.
  void edited(const std::string& key, said message, const std::string& stamp, bool is_cancel);
  void deleted(const std::string& key);

 private:
  static constexpr std::size_t most = 4096, most_after = 16;
  struct entry {
    said message;
    std::optional<operation_id> turn{};
    bool is_busy = true;                        ///< being decided about, or changed
    std::vector<std::function<void()>> after{}; ///< that wait for it
  };

  void release(const std::string& key);
  void stop_now(const std::string& key, const operation_id& turn, const std::string& why,
                const std::function<void()>& then);
  void stop_turn(const std::string& key, const std::string& why, std::function<void()> then);

  const tools tools_;
  std::map<std::string, entry> entries_;
  std::deque<std::string> order_;
};

} // namespace quell::integrations::chat
