// One conversation of `quell talk` with a file as microphone and a file as speaker: connection, keys from standard
// input, and the pure `client_side` between them.
#pragma once

#include <memory>
#include <string>

#include "cli/session.hpp"
#include "integrations/voice/client_side.hpp"

namespace quell::cli {

class conversation {
 public:
  /// `socket` is connected; this object takes ownership of it.
  conversation(session& s, int socket, char cancel_key);
  ~conversation();
  conversation(const conversation&) = delete;
  conversation& operator=(const conversation&) = delete;

  /// Sends the hello and the samples, and waits until the answer was spoken or cancelled, or `patience` is over.
  /// Returns the exit code.
  int execute(const std::string& hello, const std::string& samples, milliseconds patience);
  /// The samples that reached the speaker.
  const std::string& spoken() const { return spoken_; }

 private:
  void read_socket();
  void read_keys();
  void write();
  void perform();
  void send(const integrations::voice::frame& f);

  session& s_;
  const int socket_;
  const char cancel_key_;
  integrations::voice::client_side client_;
  integrations::voice::frame_reader reader_{integrations::voice::direction::gateway_to_client};
  std::string unsent_, spoken_;
  bool is_ready_ = false, is_over_ = false, is_writing_ = false, has_spoken_ = false, was_cancelled_ = false;
  bool reads_keys_ = true;
  int code_ = 0;
};

} // namespace quell::cli
