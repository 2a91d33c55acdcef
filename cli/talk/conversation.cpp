// Sends and receives frames over the CLI's event loop.
#include "cli/talk/conversation.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "integrations/voice/words.hpp"

namespace quell::cli {

namespace voices = integrations::voice;

conversation::conversation(session& s, int socket, char cancel_key) : s_(s), socket_(socket), cancel_key_(cancel_key) {}

conversation::~conversation() {
  s_.loop.unwatch(socket_);
  if (reads_keys_) s_.loop.unwatch(STDIN_FILENO);
  ::close(socket_);
}

int conversation::execute(const std::string& hello, const std::string& samples, milliseconds patience) {
  s_.loop.watch(socket_, false, [this] { read_socket(); });
  s_.loop.watch(STDIN_FILENO, false, [this] { read_keys(); });
  send({voices::tag::hello, hello});
  bool is_late = false;
  s_.loop.after(patience, [&is_late] { is_late = true; });
  s_.loop.run_until([&] { return is_ready_ || is_over_ || is_late; });
  if (is_ready_ && !is_over_) {
    client_.begin_talking();
    client_.microphone(samples);
    client_.end_talking();
    perform();
    s_.loop.run_until([&] { return is_over_ || is_late || !client_.waits(); });
    // The speech has begun: wait for its end, and for the answer to a cancel.
    s_.loop.run_until([&] { return is_over_ || is_late || (!client_.is_playing() && !client_.waits()); });
  }
  if (is_over_) return code_;
  if (was_cancelled_) return exit_code::run_cancelled;
  if (is_late) {
    s_.warn("no answer came within " + std::to_string(patience.count() / 1000) + " s");
    return exit_code::run_timeout;
  }
  return has_spoken_ ? exit_code::done : exit_code::nothing;
}

void conversation::read_socket() {
  std::array<char, 16384> bytes{};
  const auto n = ::read(socket_, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    if (!is_over_) s_.warn("the connection to the voice gateway has ended");
    code_ = is_over_ ? code_ : exit_code::unreachable;
    is_over_ = true;
    return;
  }
  reader_.put({bytes.data(), static_cast<std::size_t>(n)});
  for (;;) {
    const auto f = reader_.next();
    if (!f) {
      s_.warn("the voice gateway speaks another language: " + f.error().detail);
      code_ = exit_code::refused;
      is_over_ = true;
      return;
    }
    if (!*f) return perform();
    is_ready_ = is_ready_ || (*f)->tag == voices::tag::ready;
    client_.gateway_said(**f);
    perform();
    if ((*f)->tag == voices::tag::speech_end && client_.is_playing()) { // a file plays as fast as it is written
      client_.played();
      perform();
    }
  }
}

void conversation::read_keys() {
  std::array<char, 64> keys{};
  const auto n = ::read(STDIN_FILENO, keys.data(), keys.size());
  if (n < 0 && errno == EINTR) return;
  if (n <= 0) {
    reads_keys_ = false;
    return s_.loop.unwatch(STDIN_FILENO);
  }
  constexpr char escape = '\x1b';
  for (ssize_t i = 0; i < n; ++i) {
    const char key = keys[static_cast<std::size_t>(i)];
    if (key == '4' || key == escape || key == cancel_key_)
      client_.cancel();
    else
      client_.choose(key);
  }
  perform();
}

void conversation::send(const voices::frame& f) {
  unsent_ += voices::encode(f);
  write();
}

void conversation::write() {
  while (!unsent_.empty()) {
    const auto n = ::write(socket_, unsent_.data(), unsent_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break; // the reader reports the error, or the socket is full
    unsent_.erase(0, static_cast<std::size_t>(n));
  }
  if (unsent_.empty()) {
    if (std::exchange(is_writing_, false)) {
      s_.loop.unwatch(socket_);
      s_.loop.watch(socket_, false, [this] { read_socket(); });
    }
  } else if (!std::exchange(is_writing_, true)) {
    s_.loop.unwatch(socket_);
    s_.loop.watch(socket_, true, [this] { write(); });
  }
}

void conversation::perform() {
  for (const auto& e : client_.take()) {
    if (const auto* sent = std::get_if<voices::client_effects::send>(&e)) {
      was_cancelled_ = was_cancelled_ || sent->what.tag == voices::tag::cancel;
      send(sent->what);
    }
    if (const auto* sound = std::get_if<voices::client_effects::play>(&e)) {
      has_spoken_ = true;
      spoken_ += sound->samples;
    }
    if (const auto* line = std::get_if<voices::client_effects::show>(&e)) {
      was_cancelled_ = was_cancelled_ || line->text == voices::stopped_notice;
      const bool is_said = line->text.starts_with(voices::you_prefix) || line->text.starts_with(voices::ai_prefix);
      if (s_.json())
        s_.print_line({{"type", is_said ? "said" : "notice"}, {"text", line->text}});
      else if (is_said)
        s_.print(printable(line->text) + "\n");
      else
        s_.warn(printable(line->text));
    }
    if (const auto* menu = std::get_if<voices::client_effects::show_menu>(&e);
        menu && menu->which == voices::menu::before_speech)
      s_.warn("[1] Continue  [2] Retry  [3] Replay  [4] Cancel");
    if (const auto* no = std::get_if<voices::client_effects::refused>(&e)) {
      const auto why = nlohmann::json::parse(no->json, nullptr, false);
      const auto code = why.is_object() ? text_of(why, "code") : std::string();
      s_.warn(printable(why.is_object() ? text_of(why, "detail") : no->json));
      code_ = code == "unauthorized" ? exit_code::forbidden : exit_code::refused;
      is_over_ = true;
    }
  }
}

} // namespace quell::cli
