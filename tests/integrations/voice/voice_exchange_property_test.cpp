// In every order of words, answers, chunks, cancels, choices and losses: no sound of a cancelled exchange leaves the
// gateway behind its cancel, none reaches the speaker behind the key, each exchange ends once, every answer has exactly
// one end of speech, and every frame 07 has one answer. The crash of quelld is the simulation's: nothing here outlives
// it.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

namespace {

enum class step {
  speak,
  sound,
  partial,
  final,
  empty_final,
  answer,
  fail,
  question_again,
  chunk,
  end_speech,
  fail_speech,
  hear,
  rest,
  arrive,
  cancel_key,
  bare_cancel,
  choose,
  played,
  fence,
  stop_elsewhere,
  settle_end,
  late_answer,
  late_chunk,
  interrupt,
  linger,
  decide_speech,
  refuse,
  say,
  client_gone,
  brain_gone,
  last
};

/// Each sample names its speech, so that the test knows what plays.
std::string sound_of(speech_number n) { return {static_cast<char>(n >> 8U), static_cast<char>(n & 0xFFU)}; }
speech_number speech_in(std::string_view samples, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<speech_number>(static_cast<unsigned char>(samples[i])); };
  return (byte(at) << 8U) | byte(at + 1);
}

struct course {
  world w;
  int words = 0;
  speech_number silent_up_to = 0; ///< the cancel key was pressed behind these
  std::set<speech_number> escaped, played;

  explicit course(brain_side::manner how) : w(how) {
    w.leaves = [this](const frame& f) {
      if (f.tag != tag::speech) return;
      for (std::size_t i = 0; i + 1 < f.payload.size(); i += 2) {
        const auto n = speech_in(f.payload, i);
        const auto whose = w.exchange_of.find(n);
        if (whose == w.exchange_of.end() || w.exchanges[whose->second] != ended::no) escaped.insert(n);
      }
    };
    w.sounded = [this](const std::string& samples) {
      for (std::size_t i = 0; i + 1 < samples.size(); i += 2)
        if (const auto n = speech_in(samples, i); n <= silent_up_to) played.insert(n);
    };
  }

  /// Everything given before it is cancelled, if the client has anything to cancel.
  void cancel_key() {
    const auto sent = w.count(w.sent, tag::cancel);
    const auto last = w.exchange_of.empty() ? 0 : w.exchange_of.rbegin()->first;
    w.cancel_key();
    if (w.count(w.sent, tag::cancel) > sent) silent_up_to = last;
  }

  exchange_number some_exchange() {
    return w.exchanges.empty() ? 1 : 1 + *rc::gen::inRange<exchange_number>(0, w.exchanges.size());
  }

  void take(step s) {
    const auto text = "words " + std::to_string(++words);
    const auto speech = w.speeches.empty() ? 0 : w.speeches.begin()->first;
    switch (s) {
    case step::speak:
      return w.speak(text);
    case step::sound:
      w.gateway.on_client_message({tag::audio, std::string(320, 'u')});
      return w.run();
    case step::partial:
      return w.recognise(text, false);
    case step::final:
      return w.recognise(text, true);
    case step::empty_final:
      return w.recognise("", true);
    case step::answer:
      return w.answer(text);
    case step::fail:
      return w.fail();
    case step::question_again:
      return w.answer_frame({tag::question, text});
    case step::chunk:
      return w.chunk(sound_of(speech));
    case step::end_speech:
      return w.end_speech();
    case step::fail_speech:
      if (speech) {
        w.over(speech, "no voice");
      }
      return w.run();
    case step::hear:
      return w.hear();
    case step::rest:
      return w.rested();
    case step::arrive:
      return w.arrive();
    case step::cancel_key:
      return cancel_key();
    case step::bare_cancel:
      w.gateway.on_client_message({tag::cancel, {}});
      return w.run();
    case step::choose: {
      const auto key = *rc::gen::element('1', '2', '3', '4', 'x');
      return key == '4' && w.client.menu() != menu::none ? cancel_key() : w.press(key);
    }
    case step::played:
      return w.played();
    case step::fence:
      return w.fence();
    case step::stop_elsewhere:
      return w.stop_elsewhere(some_exchange());
    case step::settle_end:
      if (!w.ending.empty()) w.settle_end(*rc::gen::elementOf(w.ending), *rc::gen::arbitrary<bool>());
      return w.run();
    case step::late_answer:
      return w.answer_frame({tag::answer, text});
    case step::late_chunk: {
      const auto n = *rc::gen::inRange<speech_number>(1, 6);
      w.gateway.chunk(n, sound_of(n));
      return w.run();
    }
    case step::interrupt:
      w.client.begin_talking();
      w.run();
      w.client.end_talking();
      return w.run();
    case step::linger:
      w.gateway.lingered(some_exchange());
      if (*rc::gen::arbitrary<bool>()) w.gateway.remainder_over();
      return w.run();
    case step::decide_speech:
      if (w.judging.empty()) return;
      {
        const auto n = w.judging.front().n;
        w.judging.erase(w.judging.begin());
        const auto what = *rc::gen::element(verdict::passes, verdict::answers, verdict::stops, verdict::ignored);
        if (what == verdict::stops && w.exchanges[n] == ended::no) w.exchanges[n] = ended::completed;
        w.gateway.on_verdict(n, what);
      }
      return w.run();
    case step::refuse: {
      const auto n = some_exchange();
      if (w.exchanges.contains(n) && w.exchanges[n] == ended::no) {
        w.exchanges[n] = ended::failed;
        w.is_brain_late = w.is_brain_late || w.gateway.open_exchange() == n;
        w.gateway.refused(n, "the disk is full");
      }
      return w.run();
    }
    case step::say:
      return w.say(text);
    case step::client_gone:
      w.gateway.client_gone();
      return w.run();
    case step::brain_gone:
      w.gateway.brain_gone("it crashed");
      return w.run();
    case step::last:
      return;
    }
  }
};

std::size_t answered_cancels(const world& w) {
  std::size_t n = 0;
  for (const auto& f : w.received) n += f.tag == tag::notice && f.payload == cancelled_notice ? 1U : 0U;
  return n;
}

} // namespace

TEST_CASE("no order of events lets a cancelled exchange reach the speaker", "[voice]") {
  REQUIRE(rc::check("any course", [] {
    course c(*rc::gen::element(brain_side::manner::at_once, brain_side::manner::asks));
    c.w.fences_at_once = *rc::gen::arbitrary<bool>();
    c.w.judges_at_once = *rc::gen::arbitrary<bool>();
    c.w.ends_at_once = *rc::gen::arbitrary<bool>();
    c.w.rests_at_once = *rc::gen::arbitrary<bool>();
    c.w.hears_at_once = *rc::gen::arbitrary<bool>();
    c.w.arrives_at_once = *rc::gen::arbitrary<bool>();
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(step::last)));
    std::size_t bare = 0;
    bool is_over = false;
    std::size_t by_key = 0;
    for (const auto s : steps) {
      const auto what = static_cast<step>(s);
      // The client would take the answer to a 07 that it did not send for the one to its own, which is on its way.
      if (what == step::bare_cancel && !c.w.arrives_at_once) continue;
      if (!is_over && what == step::bare_cancel) ++bare;
      const auto speech_before = c.w.received.size();
      std::set<exchange_number> gone;
      for (const auto& [n, how] : c.w.exchanges)
        if (how != ended::no) gone.insert(n);
      c.take(what);
      if (!is_over) by_key = c.w.count(c.w.sent, tag::cancel);
      is_over = is_over || what == step::client_gone || what == step::brain_gone;
      // An ended exchange has no speech, and none begins.
      for (const auto& [speech, one] : c.w.speeches) RC_ASSERT(c.w.exchanges[one.n] == ended::no);
      RC_ASSERT(c.w.speeches.size() <= 1U);
      RC_ASSERT(!c.w.overtook_an_end);
      RC_ASSERT(c.escaped.empty());
      RC_ASSERT(c.played.empty());
      if (what == step::late_chunk && c.w.speeches.empty()) RC_ASSERT(c.w.received.size() == speech_before);
      for (const auto n : gone) RC_ASSERT(c.w.exchanges[n] != ended::no);
      if (!c.w.client.is_playing() && c.w.client.menu() == menu::none) RC_ASSERT(c.w.speaker.empty());
    }
    // Every open exchange is cancelled, and everything that is on its way comes.
    if (!is_over) ++bare;
    c.take(step::bare_cancel);
    while (!c.w.ending.empty()) c.w.settle_end(c.w.ending.front());
    c.w.fence();
    while (!c.w.on_the_way.empty()) c.w.arrive();
    RC_ASSERT(c.escaped.empty());
    RC_ASSERT(c.played.empty());
    const auto cancels = c.w.count(c.w.to_brain, tag::brain_cancel);
    RC_ASSERT(cancels >= bare);
    RC_ASSERT(answered_cancels(c.w) == bare + by_key); // also of a connection that ends meanwhile
    RC_ASSERT(c.w.gateway.is_finished() == is_over);
    RC_ASSERT(c.w.speeches.empty());
    RC_ASSERT(c.w.count(c.w.received, tag::speech_end) == c.w.accepted);
  }));
}
