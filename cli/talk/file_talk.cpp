// A file plays as fast as it is written.
#include "cli/talk/file_talk.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/signals.hpp"
#include "cli/talk/conversation.hpp"
#include "cli/talk/talk_keys.hpp"

namespace quell::cli {

namespace voices = integrations::voice;

namespace {

/// For the answer to the cancel of the first signal.
constexpr milliseconds file_leave_timeout{2'000};

/// Keys from standard input until its end.
class typed_keys {
 public:
  typed_keys(session& s, conversation& talk, char cancel_key) : s_(s), talk_(talk), cancel_key_(cancel_key) {
    s_.loop.watch(STDIN_FILENO, false, [this] { read(); });
  }
  ~typed_keys() { s_.loop.unwatch(STDIN_FILENO); }
  typed_keys(const typed_keys&) = delete;
  typed_keys& operator=(const typed_keys&) = delete;

 private:
  void read() {
    std::array<char, 64> keys{};
    const auto n = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return s_.loop.unwatch(STDIN_FILENO);
    for (const char key : std::string_view(keys.data(), static_cast<std::size_t>(n))) {
      if (key == '4' || key == escape_key || key == cancel_key_)
        talk_.client().cancel();
      else
        talk_.client().choose(key);
    }
    talk_.perform();
  }

  session& s_;
  conversation& talk_;
  const char cancel_key_;
};

} // namespace

file_speech talk_with_file(session& s, std::unique_ptr<frame_stream> to, const std::string& hello,
                           const std::string& samples, char cancel_key, milliseconds allowance) {
  file_speech done;
  conversation* self = nullptr;
  conversation talk(s, std::move(to),
                    {[&done](const std::string& played) { done.samples += played; }, [] {},
                     [&self](const voices::frame& f) {
                       if (f.tag != voices::tag::speech_end || !self->client().is_playing()) return;
                       self->client().played();
                       self->perform();
                     }});
  self = &talk;
  const typed_keys keys(s, talk, cancel_key);
  auto& client = talk.client();
  // The first signal cancels the answer as the key does, a further one does not wait for the gateway. Either way the
  // caller gets the samples that have come.
  bool is_leaving = false;
  std::optional<event_loop::handle> leave_timer;
  const signal_watch signals(s.loop, {SIGINT, SIGTERM, SIGHUP}, [&](int) {
    if (std::exchange(is_leaving, true) || !client.is_answering()) return talk.end(exit_code::run_cancelled);
    client.cancel();
    talk.perform();
    if (!client.waits()) return talk.end(exit_code::run_cancelled);
    leave_timer = s.loop.after(file_leave_timeout, [&talk] { talk.end(exit_code::run_cancelled); });
  });
  bool is_late = false;
  const auto timer = s.loop.after(allowance, [&is_late] { is_late = true; });
  if (talk.begin(hello, allowance)) {
    client.begin_talking();
    client.microphone(samples);
    client.end_talking();
    talk.perform();
    s.loop.run_until([&] { return talk.is_over() || is_late || !client.waits(); });
    // The speech has begun: wait for its end, and for the answer to a cancel.
    s.loop.run_until([&] { return talk.is_over() || is_late || (!client.is_playing() && !client.waits()); });
  }
  s.loop.forget(timer);
  if (leave_timer) s.loop.forget(*leave_timer);
  done.code = talk.has_spoken() ? exit_code::done : exit_code::nothing;
  if (is_late) done.code = exit_code::run_timeout;
  if (talk.was_cancelled()) done.code = exit_code::run_cancelled;
  if (talk.is_over()) done.code = talk.code();
  if (done.code == exit_code::run_timeout)
    s.warn("no answer came within " + std::to_string(allowance.count() / 1000) + " s");
  return done;
}

} // namespace quell::cli
