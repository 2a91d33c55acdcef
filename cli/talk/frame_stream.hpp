// A connection to a voice gateway: frames over TCP or TLS, on the CLI's event loop. Hides OpenSSL.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/http.hpp"
#include "cli/problem.hpp"
#include "cli/talk/voice_address.hpp"
#include "integrations/voice/client_side.hpp"

namespace quell::cli {

class frame_stream {
 public:
  struct hooks {
    std::function<void(const integrations::voice::frame&)> on_frame;
    std::function<void(const problem&)> lost; ///< once; nothing comes after it
  };
  /// Connects, with TLS checks the certificate, and waits for both at most `allowance`. `ca_file` "": the system's
  /// authorities. Fault `unreachable`.
  static answer<std::unique_ptr<frame_stream>> open(event_loop& loop, const voice_address& to,
                                                    const std::string& ca_file, milliseconds allowance);
  virtual ~frame_stream() = default;

  /// Starts reading. The hooks must not destroy the stream.
  virtual void begin(hooks h) = 0;
  /// Sends in order.
  virtual void send(const integrations::voice::frame& f) = 0;
};

} // namespace quell::cli
