// The gateway's side of the voice exchange, between one client and one brain: the effects of each frame, transcript,
// chunk of speech, verdict and cancel. Pure: events in, effects out.
//
// The main invariant: a cancelled exchange never reaches the speaker. Therefore an exchange leaves the table of live
// ones in the same call that receives its cancel, and anything that arrives for it later (a chunk in flight, a late
// answer) finds nothing. Frames carry no id of their exchange, so everything that a brain sends between a cancel and
// the next transcript belongs to the cancelled exchange and is dropped. Speech is handed over ahead of the time at
// which it is heard, so an exchange lives until its last sample has been heard: a cancel in audible speech finds it
// live. The client must drop everything it receives between its 07 and our `cancelled`, so the gateway sends nothing
// then: frames of newer exchanges wait until `cancelled` is sent.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "integrations/voice/wire.hpp"
#include "integrations/voice/words.hpp"

namespace quell::integrations::voice {

/// Counts the exchanges of one session, from 1.
using exchange_number = std::uint64_t;
using speech_number = std::uint64_t;

namespace gateway_effects {
struct to_client {
  frame what;
  friend bool operator==(const to_client&, const to_client&) = default;
};
struct to_brain {
  frame what;
  friend bool operator==(const to_brain&, const to_brain&) = default;
};
/// Samples for the recogniser; `end_of_speech`: no more come for now. It then gets `pause_samples` of silence, so that
/// it reports the utterance as final.
struct hear {
  std::string samples;
  friend bool operator==(const hear&, const hear&) = default;
};
struct end_of_speech {
  friend bool operator==(const end_of_speech&, const end_of_speech&) = default;
};
/// Begin an operation of kind exchange.
struct begin {
  exchange_number n = 0;
  friend bool operator==(const begin&, const begin&) = default;
};
/// Ask whether these words stop something. Answered by `on_verdict`.
struct decide_speech {
  exchange_number n = 0;
  std::string text;
  std::optional<double> confidence;
  friend bool operator==(const decide_speech&, const decide_speech&) = default;
};
/// Answered by `fenced`, whatever the outcome.
struct cancel {
  exchange_number n = 0;
  friend bool operator==(const cancel&, const cancel&) = default;
};
/// The client of this exchange is gone.
struct leave {
  exchange_number n = 0;
  friend bool operator==(const leave&, const leave&) = default;
};
struct finish {
  exchange_number n = 0;
  std::string transcript;
  bool spoken = false;   ///< its answer was spoken to the end
  std::string failure{}; ///< "" = it completed
  friend bool operator==(const finish&, const finish&) = default;
};
/// Answered by any number of `chunk`, then `speech_over`, then `speech_played`.
struct speak {
  exchange_number n = 0;
  speech_number speech = 0;
  std::string text;
  double speed = 1.0;
  friend bool operator==(const speak&, const speak&) = default;
};
/// No more `chunk` is wanted, and what the client has not heard yet is thrown away.
struct hush {
  speech_number speech = 0;
  friend bool operator==(const hush&, const hush&) = default;
};
/// These samples of a speech had waited behind `cancelled` and have left only now: it is heard that much later.
struct delay {
  speech_number speech = 0;
  std::size_t samples = 0;
  friend bool operator==(const delay&, const delay&) = default;
};
/// The user cancelled an answer after hearing it. Mark it, so that no later prompt has it as an answer. Answered by
/// `retracted`, whatever the outcome.
struct retract {
  exchange_number n = 0;
  friend bool operator==(const retract&, const retract&) = default;
};
/// Call `lingered` shortly: a 07 can follow the client's 04.
struct linger {
  exchange_number n = 0;
  friend bool operator==(const linger&, const linger&) = default;
};
/// A brain may give its answer in parts. Call `remainder_over` some seconds after the last of these: what it sends
/// until then, or until it is asked again, is the rest of an answer that was talked over.
struct await_remainder {
  friend bool operator==(const await_remainder&, const await_remainder&) = default;
};
/// Call `rested` shortly: an answer of the brain to the cancelled exchange can be on its way, and would be taken for
/// one to the next words.
struct rest {
  friend bool operator==(const rest&, const rest&) = default;
};
/// Nothing more is taken, and a `cancelled` is still owed: call `waited` if it is not told within seconds.
struct await_answers {
  friend bool operator==(const await_answers&, const await_answers&) = default;
};
/// The brain sends more than may wait. Disconnect it: `brain_gone` follows.
struct refuse_brain {
  fault why;
  friend bool operator==(const refuse_brain&, const refuse_brain&) = default;
};
/// Close the client's connection once everything queued has been sent.
struct close {
  friend bool operator==(const close&, const close&) = default;
};
} // namespace gateway_effects

using gateway_effect =
    std::variant<gateway_effects::to_client, gateway_effects::to_brain, gateway_effects::hear,
                 gateway_effects::end_of_speech, gateway_effects::begin, gateway_effects::decide_speech,
                 gateway_effects::cancel, gateway_effects::leave, gateway_effects::finish, gateway_effects::speak,
                 gateway_effects::hush, gateway_effects::delay, gateway_effects::retract, gateway_effects::linger,
                 gateway_effects::await_remainder, gateway_effects::rest, gateway_effects::await_answers,
                 gateway_effects::refuse_brain, gateway_effects::close>;

/// A transcript from the recogniser.
struct recognised {
  std::string text;
  bool is_final = false;
  std::optional<double> confidence{};
  std::optional<std::uint64_t> from{}; ///< its first sample, counted from the recogniser's start
};

/// The message rules' decision about a transcript.
enum class verdict : std::uint8_t {
  passes,  ///< goes to the brain
  answers, ///< was the answer to what an agent asks, which goes on with it
  stops,   ///< has stopped what ran, which ended its own exchange too
  ignored  ///< too uncertain to act on
};

inline constexpr std::size_t most_waiting_exchanges = 8;
/// Of a brain, behind the one that is spoken; all of them together have at most so many bytes.
inline constexpr std::size_t most_waiting_answers = 256, most_waiting_answer_bytes = 1 << 20;
/// Of a brain, other than answers, behind a `cancelled` that is not sent yet.
inline constexpr std::size_t most_held_frames = 256, most_held_bytes = 1 << 20;
inline constexpr std::size_t pause_samples = samples_per_second;

/// Single-threaded. After each call the caller takes the effects, in order.
class gateway_side {
 public:
  void on_client_message(const frame& f);
  /// Except the handshake: the caller handles its A2.
  void on_brain_message(const frame& f);
  /// False: it was discarded, because it was said before a cancel.
  bool on_recognised(const recognised& what);
  /// The recogniser found nothing in the samples that it was given.
  void on_nothing_recognised();
  /// The recogniser has had so much time for what was said last that it will not report it.
  void words_overdue();
  /// The last samples that it was given did not reach it: it does not count them.
  void audio_left_out(std::size_t samples);
  /// A new recogniser starts and counts its samples from here. `samples`: how many of those that were given last are
  /// its first ones.
  void recogniser_begins(std::size_t samples = 0);
  void on_verdict(exchange_number n, verdict what);
  void fenced(exchange_number n);
  /// The mark of an answer that was cancelled after it was heard is durable, or there is nothing to mark.
  void retracted(exchange_number n);
  /// The end of an exchange that has finished is durable. Until then a cancel covers it, too, and this answers it.
  void ended(exchange_number n);
  /// The exchange could not begin: the ledger holds nothing of it.
  void refused(exchange_number n, const std::string& why);
  /// The exchange cannot continue, and ends as failed.
  void failed(exchange_number n, const std::string& why);
  /// A cancel that came through another interface and is durable; it can also come instead of `ended`.
  void stopped(exchange_number n);
  void chunk(speech_number speech, std::string_view samples);
  /// The last chunk was given: all of it, or what there is before the failure.
  void speech_over(speech_number speech, const std::string& failure);
  /// Everything that was given of it has been heard, as far as that is known. After `speech_over`.
  void speech_played(speech_number speech);
  void lingered(exchange_number n);
  void remainder_over() { is_talked_over_ = false; }
  /// The cancels of a connection that is over were not fenced in time, or nobody can read the answers: it ends without
  /// their `cancelled`.
  void waited();
  void rested();
  /// Speaks quell's own words like an answer, to report how a stop went.
  void say(const std::string& text);
  /// Shows a notice of quell.
  void tell(const std::string& notice);
  /// The client sends nothing more. It may still read.
  void client_gone();
  void brain_gone(const std::string& why);
  /// quelld ends: so does the connection, and how its exchanges end is left to the ledger.
  void shut_down(const fault& why);
  /// The client violated the protocol.
  void broken(const fault& why);

  std::vector<gateway_effect> take() { return std::exchange(effects_, {}); }
  /// Nothing more is taken from the client, the brain and the recogniser.
  bool is_over() const { return is_over_; }
  /// Over, and every 07 is answered: the connection closes.
  bool is_finished() const { return is_finished_; }
  /// The speech whose `chunk`s are still accepted.
  std::optional<speech_number> speaking() const;
  /// It is given, or still heard.
  bool is_audible(speech_number speech) const;
  /// The exchange that the brain was asked about last and has not finished.
  std::optional<exchange_number> open_exchange() const;
  /// The same, if the brain has begun to answer it: by a question, or by an answer that is spoken or still heard.
  std::optional<exchange_number> answered_exchange() const;

 private:
  enum class phase : std::uint8_t { hearing, judging, waiting, requested, questioned, answering, interrupted };
  struct exchange {
    exchange_number n = 0;
    gateway_side::phase phase = phase::hearing;
    std::string transcript{};
    std::deque<paced_text> answers{}; ///< not spoken yet
    std::optional<speech_number> open{};
    std::optional<speech_number> sounds{}; ///< handed over whole, and still heard
    bool is_brains = false;                ///< the brain was asked and has not finished
    bool is_unasked = false;               ///< the brain has begun it by an answer
    bool was_spoken = false;

    bool is_audible() const { return open || sounds; }
    /// Only the listening is left.
    bool is_handed_over() const { return sounds && !open && answers.empty(); }
  };
  using place = std::deque<exchange>::iterator;

  template <class Effect>
  void effect(Effect e) {
    effects_.emplace_back(std::move(e));
  }
  /// `n`: the exchange to whose answer the frame belongs; 0 = none.
  void show(tag t, std::string payload = {}, exchange_number n = 0);
  void show_of_brain(tag t, std::string payload, exchange_number n = 0);
  void show_at_once(tag t, std::string payload = {});
  place find(exchange_number n);
  place at_brain();
  place unasked();
  bool has_room_for(const std::string& answer) const;
  exchange& begin_one(phase as);
  void ask_next();
  void speak_next();
  void silence(exchange& e);
  void end_unspoken(std::size_t answers);
  void expect_remainder();
  void drop_held(std::optional<exchange_number> n);
  void release_held();
  void end_handed_over();
  void leave_all();
  void part(std::optional<frame> farewell);
  void take_leave();
  std::size_t held_samples(exchange_number n) const;
  void rest();
  void finish(place at, const std::string& failure = {});
  void settle_interrupted();
  void hear(const std::string& samples);
  void discard_utterance();
  void final_discarded();
  void owes_no_more();
  void end_speech();
  void cancel_all();
  void tell_cancelled();
  void interrupt();
  void choose(user_choice what);
  void answered(const frame& f);

  std::deque<exchange> live_; ///< oldest first
  /// Their ends are not durable yet, and no 07 came since. A cancel can still win, and the next prompt must know of it:
  /// the brain is asked nothing meanwhile.
  std::vector<exchange_number> finishing_;
  /// The newest exchange that ended with an answer of the brain, until the brain is asked again or a cancel comes.
  std::optional<exchange_number> last_answered_;
  std::vector<gateway_effect> effects_;
  struct held_frame {
    exchange_number n = 0;
    frame what;
  };
  std::deque<held_frame> held_; ///< frames that wait behind the `cancelled` that are owed
  struct owed_notice {
    std::vector<exchange_number> unfenced;
    std::optional<exchange_number> unmarked{}; ///< an answer that is not retracted yet
    bool is_due() const { return unfenced.empty() && !unmarked; }
  };
  std::deque<owed_notice> owed_; ///< one for each 07
  exchange_number last_ = 0;
  speech_number last_speech_ = 0;
  unsigned ends_due_ = 0;     ///< 84s of answers that never began, until the speech of another exchange ends
  std::uint64_t samples_ = 0; ///< number given to the recogniser
  std::uint64_t cut_ = 0;     ///< what was said before this sample is discarded
  // For recognisers without `from`:
  enum class discarding : std::uint8_t { nothing, until_audio, until_final };
  discarding discards_ = discarding::nothing;
  unsigned finals_owed_ = 0;         ///< final transcripts of what was said before `cut_`
  bool owes_final_ = false;          ///< it got sound since `cut_` and since its last final transcript
  bool is_silent_since_cut_ = false; ///< it got no audio behind a cancel
  bool is_ended_ = true;             ///< the audio that it got last was followed by silence
  bool is_brain_late_ = false;       ///< its next frames answer a cancelled exchange
  bool is_talked_over_ = false;      ///< its next answers are the rest of one that was talked over
  unsigned resting_ = 0;             ///< words wait that long for the brain
  std::optional<frame> farewell_;    ///< the error behind the last `cancelled` of a connection that is over
  bool is_over_ = false, is_finished_ = false;
};

} // namespace quell::integrations::voice
