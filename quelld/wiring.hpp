// Assembles the controller process: journal, sockets, actor, gateway. The only file that knows all of them.
#pragma once

#include <memory>
#include <string>

#include "protocol/fault.hpp"
#include "quelld/loaded.hpp"
#include "storage/store_origin.hpp"

namespace quell::controller {

class controller_process {
 public:
  struct options {
    loaded configuration;
    storage::store_origin origin = storage::store_origin::own_past;
    std::string version;
    std::string commit;
    std::function<result<loaded>()> load; ///< reads the configuration anew
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
  /// Becomes readable (poll) when a client asks for a reload: then `reload` must be called.
  virtual int reload_descriptor() const = 0;
  /// Reads the configuration anew and takes all of it, or nothing. Logs what it did, and answers the clients that
  /// asked. One thread at a time.
  virtual void reload() = 0;
  /// Planned stop: hands over to the workers (their tasks live on), answers open requests, closes the store.
  virtual void stop() = 0;
};

} // namespace quell::controller
