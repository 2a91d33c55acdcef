// All connected chat services: started together, told what concerns them, asked on behalf of their services.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/chat/settings.hpp"
#include "integrations/chat/chat.hpp"
#include "storage/records.hpp"

namespace quell::controller::chat {

class connectors {
 public:
  /// Starts what is configured. Fault: the first one that cannot work at all (what is merely not reachable connects
  /// later). Everything in `tools` outlives the connectors.
  static result<std::unique_ptr<connectors>> start(const chat_settings& settings, const connector_tools& tools);
  ~connectors();
  connectors(const connectors&) = delete;
  connectors& operator=(const connectors&) = delete;

  /// One more, before anything is told or called.
  void add(std::unique_ptr<integrations::chat::connector> one) { all_.push_back(std::move(one)); }
  /// A committed event goes to the connector whose name begins its scope; others are passed by. Any thread, in commit
  /// order.
  void told(const storage::event_record& e);
  /// A request to `/v1/chat/<name>/<path>`; false, and `done` is not called, if no connector has that name. Any thread.
  bool called(std::string_view name, integrations::chat::web_call call,
              std::function<void(integrations::chat::web_answer)> done);
  /// Name and state of each, for people.
  std::vector<std::pair<std::string, std::string>> states() const;
  /// Twice does no harm.
  void stop();

 private:
  connectors() = default;
  integrations::chat::connector* find(std::string_view name) const;
  std::vector<std::unique_ptr<integrations::chat::connector>> all_;
};

/// Committed events on their way to connectors that start later: those that come before `open` are kept, at most 4,096,
/// the oldest dropped, and told first.
class event_tap {
 public:
  event_tap();
  ~event_tap();
  void told(const storage::event_record& e);
  void open(std::function<void(const storage::event_record&)> listener);
  /// Nothing is told afterwards.
  void close();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace quell::controller::chat
