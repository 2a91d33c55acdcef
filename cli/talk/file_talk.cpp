// A file plays as fast as it is written. It can hold several utterances: the talk goes on until each one that was
// understood is answered, and no sooner than the file would have been said at the pace of speech, so that a recogniser
// that keeps pace has reported them all.
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
#include "integrations/voice/words.hpp"

namespace quell::cli {

namespace voices = integrations::voice;

namespace {

/// For the answer to the cancel of the first signal.
constexpr milliseconds file_leave_timeout{2'000};
/// For the last words of the file.
constexpr milliseconds recognition_allowance{1'000};

/// Which of the utterances have an answer.
class utterance_count {
 public:
  void take(const voices::frame& f) {
    if (f.tag == voices::tag::text && f.payload.starts_with(voices::you_prefix)) ++understood_;
    if (f.tag == voices::tag::speech_end) ++settled_;
    // One that was shown and then ignored; the plain notice is about words that were not shown.
    if (f.tag == voices::tag::notice && f.payload.starts_with(voices::nothing_recognised_notice) &&
        f.payload != voices::nothing_recognised_notice)
      ++settled_;
  }
  /// The user will say it again: nothing answers it.
  void rephrased() { ++settled_; }
  bool is_settled() const { return settled_ >= understood_; }

 private:
  unsigned understood_ = 0, settled_ = 0;
};

/// Keys from standard input until its end.
class typed_keys {
 public:
  typed_keys(session& s, conversation& talk, char cancel_key, utterance_count& utterances)
      : s_(s), talk_(talk), cancel_key_(cancel_key), utterances_(utterances) {
    s_.loop.watch(STDIN_FILENO, ready_for::reading, [this] { read(); });
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
        choose(key);
    }
    talk_.perform();
  }

  void choose(char key) {
    if (key == '2' && talk_.client().menu() == voices::menu::before_speech) utterances_.rephrased();
    talk_.client().choose(key);
  }

  session& s_;
  conversation& talk_;
  const char cancel_key_;
  utterance_count& utterances_;
};

} // namespace

file_speech talk_with_file(session& s, std::unique_ptr<frame_stream> to, const std::string& hello,
                           const std::string& samples, char cancel_key, milliseconds allowance) {
  file_speech done;
  conversation* self = nullptr;
  utterance_count utterances;
  conversation talk(s, std::move(to),
                    {[&done](const std::string& played) { done.samples += played; }, [] {},
                     [&self, &utterances](const voices::frame& f) {
                       utterances.take(f);
                       if (f.tag != voices::tag::speech_end || !self->client().is_playing()) return;
                       self->client().played();
                       self->perform();
                     }});
  self = &talk;
  const typed_keys keys(s, talk, cancel_key, utterances);
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
    bool is_spoken = false;
    const milliseconds length{samples.size() / 2 * 1000 / voices::samples_per_second};
    const auto end_of_file = s.loop.after(length + recognition_allowance, [&is_spoken] { is_spoken = true; });
    s.loop.run_until([&] {
      if (talk.is_over() || is_late) return true;
      if (client.is_playing() || client.waits()) return false;
      return talk.was_cancelled() || (is_spoken && utterances.is_settled()); // a cancel takes all of the file back
    });
    s.loop.forget(end_of_file);
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
