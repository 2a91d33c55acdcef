// All connected chat services: starts them together, passes them their events, and passes on the requests of their
// services.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/records/records.hpp"
#include "gateway/server.hpp"
#include "integrations/chat/chat.hpp"
#include "quelld/chat/settings.hpp"

namespace quell::controller::chat {

class connectors {
 public:
  /// Starts the configured connectors. Fault: the first one that cannot work at all (one that is only unreachable
  /// connects later). Everything in `tools` must outlive the connectors.
  static result<std::unique_ptr<connectors>> start(const chat_settings& settings, const connector_tools& tools);
  ~connectors();
  connectors(const connectors&) = delete;
  connectors& operator=(const connectors&) = delete;

  /// Adds a connector, before any event or request.
  void add(std::unique_ptr<integrations::chat::connector> one) { all_.push_back(std::move(one)); }
  /// Passes a committed event to the connector whose name begins its scope; ignores other events. Any thread, in commit
  /// order.
  void on_event(const records::event_record& e);
  /// A request to `/v1/chat/<name>/<path>`; false, and `done` is not called, if no connector has that name. Any thread.
  bool called(std::string_view name, integrations::chat::web_call call,
              std::function<void(integrations::chat::web_answer)> done);
  /// In the order of the configuration. Any thread.
  std::vector<chat_service_view> states() const;
  /// Idempotent.
  void stop();

 private:
  connectors() = default;
  integrations::chat::connector* find(std::string_view name) const;
  std::vector<std::unique_ptr<integrations::chat::connector>> all_;
};

/// Buffers committed events for connectors that start later: events before `open` are kept, at most 4,096, the oldest
/// dropped, and delivered first.
class event_tap {
 public:
  event_tap();
  ~event_tap();
  void on_event(const records::event_record& e);
  void open(std::function<void(const records::event_record&)> listener);
  /// No event is delivered afterwards.
  void close();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace quell::controller::chat
