// One conversation of `quell talk`: the pure `client_side` between a connection to the gateway and a speaker, and the
// lines that people or scripts read.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/exit_code.hpp"
#include "cli/session.hpp"
#include "cli/talk/frame_stream.hpp"
#include "integrations/voice/client_side.hpp"

namespace quell::cli {

class conversation {
 public:
  struct hooks {
    std::function<void(const std::string& samples)> play;
    std::function<void()> silence; ///< what is not heard yet is never heard
    /// After a frame was handled.
    std::function<void(const integrations::voice::frame&)> after{};
    /// A transcript on the way; without this hook it is a line like others.
    std::function<void(const std::string& text)> hearing{};
    std::function<void()> before_line{};
  };
  conversation(session& s, std::unique_ptr<frame_stream> to, hooks h);

  /// Sends the hello and waits until the gateway is ready. False: the conversation is over, or it took too long.
  bool begin(const std::string& hello, milliseconds allowance);
  integrations::voice::client_side& client() { return client_; }
  /// Performs everything that calls of the client's side asked for.
  void perform();
  void end(exit_code code);
  /// Prints a notice of this program.
  void note(const std::string& text);

  bool is_over() const { return is_over_; }
  exit_code code() const { return code_; }
  bool was_cancelled() const { return was_cancelled_; }
  bool has_spoken() const { return has_spoken_; }

 private:
  void take(const integrations::voice::frame& f);
  void perform(const integrations::voice::client_effects::send& e);
  void perform(const integrations::voice::client_effects::play& e);
  void perform(const integrations::voice::client_effects::silence& e);
  void perform(const integrations::voice::client_effects::show& e);
  void perform(const integrations::voice::client_effects::show_menu& e);
  void perform(const integrations::voice::client_effects::refused& e);

  session& s_;
  const std::unique_ptr<frame_stream> to_;
  const hooks hooks_;
  integrations::voice::client_side client_;
  bool is_ready_ = false, is_over_ = false, has_spoken_ = false, was_cancelled_ = false;
  exit_code code_ = exit_code::done;
};

} // namespace quell::cli
