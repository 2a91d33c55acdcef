// Assembles the controller process: journal, sockets, actor, gateway. The only file that knows all of them.
#pragma once

#include <memory>
#include <string>

#include "actors/turns/settings.hpp"
#include "actors/voice/settings.hpp"
#include "protocol/fault.hpp"
#include "quelld/chat/settings.hpp"
#include "quelld/config.hpp"

namespace quell::controller {

class controller_process {
 public:
  struct options {
    config settings;
    bool restored = false;
    std::string version;
    std::string commit;
    turns::turn_settings turns;
    chat::chat_settings chats{};
    voice::voice_settings voice{};
  };
  /// Starts everything and writes `client.json` into the state directory. Faults say what to do (port in use, state in
  /// use, …).
  static result<std::unique_ptr<controller_process>> start(options o);
  virtual ~controller_process() = default;

  virtual std::string url() const = 0;
  virtual std::string state_directory() const = 0;
  /// Becomes readable (poll) when the process must end because memory and disk can differ; `failure_reason` has the
  /// cause.
  virtual int failure_descriptor() const = 0;
  virtual std::string failure_reason() const = 0;
  /// Planned stop: hands over to the workers (their tasks live on), answers open requests, closes the store.
  virtual void stop() = 0;
};

} // namespace quell::controller
