// Sound through PulseAudio's protocol, which PipeWire speaks, too.
//
// Playback never pauses: between answers it plays silence, so that a buffer of 40 ms is always filled and nothing has
// to be started when an answer begins. `silence` drops our queue and flushes the server's buffer under one lock; a
// write that libpulse asks for afterwards finds the queue empty. libpulse calls back on its own thread with its lock
// held; an eventfd carries the news to the CLI's loop.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cli/talk/pulse_library.hpp"
#include "cli/talk/sound_device.hpp"

namespace quell::cli {
namespace {

constexpr std::uint32_t rate = 16000, bytes_per_ms = 2 * rate / 1000;
constexpr std::uint32_t buffer_ms = 40, request_ms = 10, fragment_ms = 20;
constexpr std::size_t most_recorded_bytes = 4 << 20; ///< two minutes: the loop has stalled
constexpr milliseconds server_timeout{10'000};
constexpr const char* advice = "; start one (PulseAudio or PipeWire), or use --file in.wav --out out.wav";

problem no_sound(const std::string& why) {
  return local_problem(local_code::local, "no sound device: " + why + advice);
}

class pulse_device final : public sound_device {
 public:
  pulse_device(const pulse_library& p, event_loop& loop, hooks h)
      : p_(p), loop_(loop), hooks_(std::move(h)), news_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    loop_.watch(news_, ready_for::reading, [this] { take_news(); });
  }
  ~pulse_device() override { close_device(); }
  pulse_device(const pulse_device&) = delete;
  pulse_device& operator=(const pulse_device&) = delete;

  std::optional<problem> open(microphone how);
  void listen(listening now) override;
  void play(std::string_view samples) override;
  void silence() override;
  bool is_playing() const override {
    const guard held(*this);
    return is_sounding_;
  }
  bool cancels_echo() const override;

 private:
  /// libpulse's lock.
  struct guard {
    explicit guard(const pulse_device& of) : of_(of) { of_.p_.pa_threaded_mainloop_lock(of_.thread_); }
    ~guard() { of_.p_.pa_threaded_mainloop_unlock(of_.thread_); }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    const pulse_device& of_;
  };
  bool wait_for(const std::function<bool()>& ready);
  std::optional<problem> connect();
  void begin(microphone how);
  std::string trouble() const;
  pa_stream* stream(const char* name, microphone how);
  void take_news();
  void announce() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(news_, &one, sizeof one); // fails only if news wait already
  }
  void give(std::size_t bytes);
  void record();
  void done(pa_operation* o) const {
    if (o) p_.pa_operation_unref(o);
  }
  std::string error() const { return p_.pa_strerror(p_.pa_context_errno(context_)); }
  bool goes_through_canceller(pa_stream* s) const {
    const char* name = p_.pa_stream_get_device_name(s);
    return name && std::string_view(name).find("echo-cancel") != std::string_view::npos;
  }
  void close_device();

  const pulse_library& p_;
  event_loop& loop_;
  hooks hooks_;
  const int news_;
  pa_threaded_mainloop* thread_ = nullptr;
  pa_context* context_ = nullptr;
  pa_stream *in_ = nullptr, *out_ = nullptr;
  bool is_open_ = false, is_lost_ = false;
  // Under libpulse's lock:
  std::string queue_, recorded_;
  std::size_t silent_bytes_ = 0; ///< written since the queue became empty
  bool is_sounding_ = false, has_drained_ = false, is_listening_ = false;
};

/// `ready` is called with the lock held.
bool pulse_device::wait_for(const std::function<bool()>& ready) {
  bool is_late = false;
  const auto timer = loop_.after(server_timeout, [&is_late] { is_late = true; });
  loop_.run_until([&] {
    const guard held(*this);
    return is_late || ready();
  });
  loop_.forget(timer);
  return !is_late;
}

pa_stream* pulse_device::stream(const char* name, microphone how) {
  const pa_sample_spec form{PA_SAMPLE_S16LE, rate, 1};
  auto* about = p_.pa_proplist_new();
  p_.pa_proplist_sets(about, PA_PROP_MEDIA_ROLE, "phone");
  if (how == microphone::open) p_.pa_proplist_sets(about, PA_PROP_FILTER_WANT, "echo-cancel");
  auto* made = p_.pa_stream_new_with_proplist(context_, name, &form, nullptr, about);
  p_.pa_proplist_free(about);
  p_.pa_stream_set_state_callback(
      made, [](pa_stream*, void* self) { static_cast<pulse_device*>(self)->announce(); }, this);
  return made;
}

std::optional<problem> pulse_device::connect() {
  thread_ = p_.pa_threaded_mainloop_new();
  context_ = p_.pa_context_new(p_.pa_threaded_mainloop_get_api(thread_), "quell talk");
  p_.pa_context_set_state_callback(
      context_, [](pa_context*, void* self) { static_cast<pulse_device*>(self)->announce(); }, this);
  if (p_.pa_context_connect(context_, nullptr, PA_CONTEXT_NOAUTOSPAWN, nullptr) < 0)
    return no_sound("the sound server cannot be reached (" + error() + ")");
  if (p_.pa_threaded_mainloop_start(thread_) < 0) return no_sound("libpulse cannot start its thread");
  const auto is = [this](pa_context_state_t wanted) { return p_.pa_context_get_state(context_) == wanted; };
  if (!wait_for([&] { return is(PA_CONTEXT_READY) || is(PA_CONTEXT_FAILED) || is(PA_CONTEXT_TERMINATED); }))
    return no_sound("the sound server did not answer within 10 s");
  const guard held(*this);
  if (!is(PA_CONTEXT_READY)) return no_sound("the sound server cannot be reached (" + error() + ")");
  return std::nullopt;
}

void pulse_device::begin(microphone how) {
  const guard held(*this);
  out_ = stream("answers", how);
  in_ = stream("microphone", how);
  p_.pa_stream_set_write_callback(
      out_, [](pa_stream*, std::size_t n, void* self) { static_cast<pulse_device*>(self)->give(n); }, this);
  p_.pa_stream_set_read_callback(
      in_, [](pa_stream*, std::size_t, void* self) { static_cast<pulse_device*>(self)->record(); }, this);
  constexpr auto unset = static_cast<std::uint32_t>(-1);
  const pa_buffer_attr speaking{unset, buffer_ms * bytes_per_ms, unset, request_ms * bytes_per_ms, unset};
  const pa_buffer_attr hearing{unset, unset, unset, unset, fragment_ms * bytes_per_ms};
  p_.pa_stream_connect_playback(out_, nullptr, &speaking, PA_STREAM_ADJUST_LATENCY, nullptr, nullptr);
  const auto flags = PA_STREAM_ADJUST_LATENCY | (how == microphone::open ? PA_STREAM_NOFLAGS : PA_STREAM_START_CORKED);
  p_.pa_stream_connect_record(in_, nullptr, &hearing, static_cast<pa_stream_flags_t>(flags));
  is_listening_ = how == microphone::open;
}

/// Why no sound goes through any more; "" = it does. Under the lock.
std::string pulse_device::trouble() const {
  if (p_.pa_context_get_state(context_) != PA_CONTEXT_READY) return "the sound server has gone (" + error() + ")";
  if (p_.pa_stream_get_state(out_) == PA_STREAM_FAILED) return "there is no loudspeaker (" + error() + ")";
  if (p_.pa_stream_get_state(in_) == PA_STREAM_FAILED) return "there is no microphone (" + error() + ")";
  if (p_.pa_stream_get_state(out_) == PA_STREAM_TERMINATED || p_.pa_stream_get_state(in_) == PA_STREAM_TERMINATED)
    return "the device was removed";
  return {};
}

std::optional<problem> pulse_device::open(microphone how) {
  if (auto failed = connect()) return failed;
  begin(how);
  const auto is_ready = [this](pa_stream* s) { return p_.pa_stream_get_state(s) == PA_STREAM_READY; };
  if (!wait_for([&] { return (is_ready(in_) && is_ready(out_)) || !trouble().empty(); }))
    return no_sound("the sound server did not open the devices within 10 s");
  const guard held(*this);
  if (const auto why = trouble(); !why.empty()) return no_sound(why);
  is_open_ = true;
  return std::nullopt;
}

/// Fills what the server asks for: with the answer, then with silence.
void pulse_device::give(std::size_t bytes) {
  const auto sound = std::min(queue_.size(), bytes);
  std::string piece = queue_.substr(0, sound);
  queue_.erase(0, sound);
  piece.resize(bytes, '\0');
  p_.pa_stream_write(out_, piece.data(), bytes, nullptr, 0, PA_SEEK_RELATIVE);
  silent_bytes_ = sound > 0 ? bytes - sound : silent_bytes_ + bytes;
  if (!is_sounding_ || !queue_.empty() || silent_bytes_ < buffer_ms * bytes_per_ms) return;
  is_sounding_ = false;
  has_drained_ = true;
  announce();
}

void pulse_device::record() {
  while (p_.pa_stream_readable_size(in_) > 0) {
    const void* data = nullptr;
    std::size_t size = 0;
    if (p_.pa_stream_peek(in_, &data, &size) < 0 || size == 0) break;
    if (is_listening_ && recorded_.size() < most_recorded_bytes) {
      if (data)
        recorded_.append(static_cast<const char*>(data), size);
      else
        recorded_.append(size, '\0'); // a hole
    }
    p_.pa_stream_drop(in_);
  }
  announce();
}

void pulse_device::listen(listening now) {
  std::string last;
  {
    const guard held(*this);
    is_listening_ = now == listening::on;
    if (is_listening_) {
      recorded_.clear();
      done(p_.pa_stream_flush(in_, nullptr, nullptr)); // what was recorded before
    } else {
      last = std::exchange(recorded_, {});
    }
    done(p_.pa_stream_cork(in_, is_listening_ ? 0 : 1, nullptr, nullptr));
  }
  if (!last.empty() && hooks_.recorded) hooks_.recorded(last);
}

void pulse_device::play(std::string_view samples) {
  const guard held(*this);
  queue_ += samples;
  is_sounding_ = is_sounding_ || !queue_.empty();
  silent_bytes_ = 0;
}

void pulse_device::silence() {
  const guard held(*this);
  queue_.clear();
  is_sounding_ = has_drained_ = false;
  done(p_.pa_stream_flush(out_, nullptr, nullptr));
}

bool pulse_device::cancels_echo() const {
  const guard held(*this);
  return goes_through_canceller(in_) && goes_through_canceller(out_);
}

void pulse_device::take_news() {
  std::uint64_t ignored = 0;
  [[maybe_unused]] const auto taken = ::read(news_, &ignored, sizeof ignored);
  if (!is_open_ || is_lost_) return;
  std::string samples, failed;
  bool drained = false;
  {
    const guard held(*this);
    samples = std::exchange(recorded_, {});
    drained = std::exchange(has_drained_, false);
    failed = trouble();
  }
  if (!samples.empty() && hooks_.recorded) hooks_.recorded(samples);
  if (drained && hooks_.drained) hooks_.drained();
  if (failed.empty() || std::exchange(is_lost_, true)) return;
  if (hooks_.lost) hooks_.lost(no_sound(failed));
}

void pulse_device::close_device() {
  loop_.unwatch(news_);
  if (thread_) p_.pa_threaded_mainloop_lock(thread_);
  for (auto* s : {in_, out_}) {
    if (!s) continue;
    p_.pa_stream_set_state_callback(s, nullptr, nullptr);
    p_.pa_stream_set_write_callback(s, nullptr, nullptr);
    p_.pa_stream_set_read_callback(s, nullptr, nullptr);
    p_.pa_stream_disconnect(s);
    p_.pa_stream_unref(s);
  }
  if (context_) {
    p_.pa_context_set_state_callback(context_, nullptr, nullptr);
    p_.pa_context_disconnect(context_);
    p_.pa_context_unref(context_);
  }
  if (thread_) {
    p_.pa_threaded_mainloop_unlock(thread_);
    p_.pa_threaded_mainloop_stop(thread_);
    p_.pa_threaded_mainloop_free(thread_);
  }
  ::close(news_);
}

} // namespace

answer<std::unique_ptr<sound_device>> sound_device::open(event_loop& loop, microphone how, hooks h) {
  const auto& library = pulse();
  if (!library.error.empty()) return tl::unexpected(no_sound(library.error));
  auto made = std::make_unique<pulse_device>(library, loop, std::move(h));
  if (auto failed = made->open(how)) return tl::unexpected(std::move(*failed));
  return made;
}

} // namespace quell::cli
