// Between the terminal, the sound device and the conversation. A cancel key takes the shortest way: the device is
// flushed in the same call that reads the key, before anything is sent.
#include "cli/talk/live_talk.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/raw_terminal.hpp"
#include "cli/signals.hpp"
#include "cli/talk/conversation.hpp"
#include "cli/talk/evdev_keyboard.hpp"
#include "cli/talk/level_meter.hpp"
#include "cli/talk/open_microphone.hpp"

namespace quell::cli {

namespace voices = integrations::voice;

namespace {

using clock = std::chrono::steady_clock;
constexpr milliseconds redraw_every{100}, leave_timeout{2'000};
constexpr std::size_t meter_width = 20;

class live_talk {
 public:
  live_talk(session& s, std::unique_ptr<frame_stream> to, const live_settings& how)
      : s_(s), how_(how), talk_(s, std::move(to),
                                {[this](const std::string& samples) { device_->play(samples); },
                                 [this] { device_->silence(); }, [this](const voices::frame& f) { after(f); },
                                 [this](const std::string& text) { hearing(text); }, [this] { clear_status(); }}) {}
  ~live_talk() {
    clear_status();
    s_.loop.unwatch(STDIN_FILENO);
  }
  live_talk(const live_talk&) = delete;
  live_talk& operator=(const live_talk&) = delete;

  exit_code execute(const std::string& hello);

 private:
  bool is_open() const { return how_.how == microphone::open; }
  void read_keys();
  void press(char key);
  void leave(exit_code code);
  bool open_keyboard();
  void on_keyboard(const key_event& e);
  void toggle_talking();
  void recorded(const std::string& samples);
  void tell_about_echo();
  void drained();
  void after(const voices::frame& f);
  void hearing(const std::string& text);
  void show_status();
  void clear_status();
  std::string help() const;

  session& s_;
  const live_settings how_;
  conversation talk_;
  std::unique_ptr<sound_device> device_;
  std::unique_ptr<evdev_keyboard> keyboard_;
  half_duplex gate_;
  std::optional<bool> had_canceller_;
  std::string transcript_; ///< the transcript on the way
  double level_db_ = -96;
  clock::time_point drawn_{};
  std::optional<exit_code> leaves_with_; ///< exit code
  bool has_status_ = false;
};

exit_code live_talk::execute(const std::string& hello) {
  auto device = sound_device::open(s_.loop, how_.how,
                                   {[this](const std::string& samples) { recorded(samples); }, [this] { drained(); },
                                    [this](const problem& why) {
                                      clear_status();
                                      s_.say(why);
                                      talk_.end(exit_of_problem(why));
                                    }});
  if (!device) return s_.fail(device.error());
  device_ = std::move(*device);
  if (!open_keyboard()) return talk_.code();
  const raw_terminal keys(terminal_mode::single_keys);
  const signal_watch signals(s_.loop, {SIGINT, SIGTERM, SIGHUP}, [this](int) { leave(exit_code::run_cancelled); });
  if (!talk_.begin(hello, how_.allowance)) return talk_.code();
  if (is_open()) talk_.client().open_microphone();
  talk_.perform();
  talk_.note(help());
  s_.loop.watch(STDIN_FILENO, ready_for::reading, [this] { read_keys(); });
  s_.loop.run_until([this] { return talk_.is_over(); });
  return talk_.code();
}

std::string live_talk::help() const {
  std::string text = is_open() ? "the microphone is open" : name_of_key(how_.talk_key) + " begins and ends talking";
  if (keyboard_ && how_.held_talk_key && !is_open())
    text += ", " + name_of_key(how_.held_talk_key->key) + " talks while it is held";
  text += ", esc";
  if (keyboard_ && how_.far_cancel_key) text += " or " + name_of_key(how_.far_cancel_key->key);
  if (how_.cancel_key != escape_key) text += " or " + name_of_key(how_.cancel_key);
  return text + " cancels, q leaves";
}

void live_talk::read_keys() {
  std::array<char, 256> bytes{};
  const auto n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    s_.loop.unwatch(STDIN_FILENO);
    if (!is_open()) leave(exit_code::done); // nobody can press a key any more
    return;
  }
  for (const char key : keys_in({bytes.data(), static_cast<std::size_t>(n)}))
    if (!talk_.is_over()) press(key);
}

void live_talk::press(char key) {
  constexpr char end_of_input = '\x04';
  auto& client = talk_.client();
  if (key == escape_key || key == '4' || key == how_.cancel_key) {
    if (client.is_talking() && !is_open()) device_->listen(listening::off);
    client.cancel();
    transcript_.clear();
  } else if (key == how_.talk_key && !is_open()) {
    toggle_talking();
  } else if (key == 'q' || key == end_of_input) {
    return leave(exit_code::done);
  } else {
    client.choose(key);
  }
  talk_.perform();
  show_status();
}

/// False: the talk is over.
bool live_talk::open_keyboard() {
  std::vector<hotkey> keys;
  for (const auto& key : {how_.held_talk_key, how_.far_cancel_key})
    if (key) keys.push_back(*key);
  if (keys.empty()) return true;
  auto opened = evdev_keyboard::open(s_.loop, keys, [this](const key_event& e) { on_keyboard(e); });
  if (opened) {
    keyboard_ = std::move(*opened);
    return true;
  }
  if (has_code(opened.error(), local_code::local)) {
    talk_.note(opened.error().detail + ". The keys of the terminal work");
    return true;
  }
  talk_.end(s_.fail(opened.error()));
  return false;
}

void live_talk::on_keyboard(const key_event& e) {
  if (talk_.is_over()) return;
  if (how_.far_cancel_key && e.key == how_.far_cancel_key->key) return e.is_down ? press(escape_key) : void();
  if (!how_.held_talk_key || e.key != how_.held_talk_key->key || is_open()) return;
  if (e.is_down == talk_.client().is_talking()) return; // the terminal's key has begun or ended it already
  press(how_.talk_key);
}

void live_talk::toggle_talking() {
  auto& client = talk_.client();
  if (client.is_talking()) {
    device_->listen(listening::off);
    client.end_talking();
    return;
  }
  client.begin_talking();
  if (client.is_talking())
    device_->listen(listening::on);
  else
    talk_.note("answer the question first: [1] Continue  [2] Retry  [3] Replay  [4] Cancel");
}

/// An answer on its way is cancelled, and the `cancelled` awaited for a moment: the gateway would cancel it anyway, as
/// it does with words that are not recognised yet. An answer that was heard to its end stays one.
void live_talk::leave(exit_code code) {
  if (leaves_with_) return talk_.end(code);
  leaves_with_ = code;
  if (!talk_.client().is_answering()) return talk_.end(code);
  talk_.client().cancel();
  talk_.perform();
  if (!talk_.client().waits()) return talk_.end(code);
  s_.loop.after(leave_timeout, [this, code] { talk_.end(code); });
}

void live_talk::recorded(const std::string& samples) {
  auto& client = talk_.client();
  if (!client.is_talking()) return;
  level_db_ = peak_db(samples);
  const auto now = clock::now();
  if (is_open()) {
    tell_about_echo();
    if (device_->is_playing()) gate_.sounds(now);
    const bool is_deaf = !*had_canceller_ && !gate_.may_hear(now);
    if (is_deaf) level_db_ = -96;
    client.microphone(is_deaf ? std::string(samples.size(), '\0') : samples); // silence: the recogniser's time goes on
  } else {
    client.microphone(samples);
  }
  talk_.perform();
  if (now - drawn_ >= redraw_every) show_status();
}

void live_talk::tell_about_echo() {
  const bool has = device_->cancels_echo();
  if (had_canceller_ == has) return;
  had_canceller_ = has;
  talk_.note(
      has ? "echo cancellation is on: a word can stop an answer, too"
          : "there is no echo cancellation: while an answer plays, the microphone is off and only the key stops it");
}

void live_talk::drained() {
  gate_.sounds(clock::now());
  talk_.client().played();
  talk_.perform();
}

void live_talk::after(const voices::frame& f) {
  if (f.tag == voices::tag::speech_end && !device_->is_playing()) drained();
  if (f.tag == voices::tag::text) transcript_.clear();
  if (leaves_with_ && !talk_.client().waits()) talk_.end(*leaves_with_);
}

void live_talk::hearing(const std::string& text) {
  transcript_ = text;
  if (s_.json()) return s_.print_line({{"type", "hearing"}, {"text", text}});
  show_status();
}

void live_talk::show_status() {
  if (!s_.term.err_is_terminal || s_.json()) return;
  if (!talk_.client().is_talking()) return clear_status();
  drawn_ = clock::now();
  has_status_ = true;
  const auto line = meter(level_db_, meter_width) + " " + printable(transcript_);
  const auto columns = s_.term.columns > 1 ? static_cast<std::size_t>(s_.term.columns) - 1 : 79;
  std::fprintf(stderr, "\r%s\x1b[K", cut(line, columns, s_.term.characters).c_str());
}

void live_talk::clear_status() {
  if (!std::exchange(has_status_, false)) return;
  std::fputs("\r\x1b[K", stderr);
}

} // namespace

exit_code talk_live(session& s, std::unique_ptr<frame_stream> to, const std::string& hello, const live_settings& how) {
  return live_talk(s, std::move(to), how).execute(hello);
}

} // namespace quell::cli
