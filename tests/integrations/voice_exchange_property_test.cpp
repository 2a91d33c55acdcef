// In every order of words, answers, chunks, cancels, choices and losses: cancelled speech never reaches the speaker,
// each exchange ends once, every answer has one end of speech, and every frame 07 has one answer.
#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

namespace {

enum class step {
  speak,
  partial,
  final,
  empty_final,
  answer,
  fail,
  question_again,
  chunk,
  end_speech,
  fail_speech,
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

/// Each chunk names its speech, so that the test knows what plays.
std::string sound_of(speech_number n) { return std::string(2, static_cast<char>('A' + n % 50)); }

struct course {
  world w;
  std::map<char, bool> is_cancelled; ///< by sound
  int words = 0;

  explicit course(brain_side::manner how) : w(how) {}

  exchange_number some_exchange() {
    return w.exchanges.empty() ? 1 : 1 + *rc::gen::inRange<exchange_number>(0, w.exchanges.size());
  }

  void take(step s) {
    const auto text = "words " + std::to_string(++words);
    const auto speech = w.speeches.empty() ? 0 : w.speeches.begin()->first;
    switch (s) {
    case step::speak:
      return w.speak(text);
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
        w.speeches.erase(speech);
        w.gateway.speech_over(speech, "no voice");
      }
      return w.run();
    case step::cancel_key:
      return w.cancel_key();
    case step::bare_cancel:
      w.gateway.on_client_message({tag::cancel, {}});
      return w.run();
    case step::choose:
      return w.press(*rc::gen::element('1', '2', '3', '4', 'x'));
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
    case step::late_chunk:
      w.gateway.chunk(*rc::gen::inRange<speech_number>(1, 6), "zz");
      return w.run();
    case step::interrupt:
      w.client.begin_talking();
      w.run();
      w.client.end_talking();
      return w.run();
    case step::linger:
      w.gateway.lingered(some_exchange());
      return w.run();
    case step::decide_speech:
      if (w.judging.empty()) return;
      {
        const auto n = w.judging.front().n;
        w.judging.erase(w.judging.begin());
        const auto what = *rc::gen::element(verdict::passes, verdict::stops, verdict::ignored);
        if (what == verdict::stops && w.exchanges[n] == ended::no) w.exchanges[n] = ended::completed;
        w.gateway.on_verdict(n, what);
      }
      return w.run();
    case step::refuse: {
      const auto n = some_exchange();
      if (w.exchanges.contains(n) && w.exchanges[n] == ended::no) {
        w.exchanges[n] = ended::failed;
        w.gateway.refused(n, "the disk is full");
      }
      return w.run();
    }
    case step::say:
      w.gateway.say(text);
      return w.run();
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
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, static_cast<int>(step::last)));
    std::size_t bare = 0;
    bool is_over = false;
    for (const auto s : steps) {
      const auto what = static_cast<step>(s);
      if (!is_over && what == step::bare_cancel) ++bare;
      const auto speech_before = c.w.received.size();
      std::set<exchange_number> gone;
      for (const auto& [n, how] : c.w.exchanges)
        if (how != ended::no) gone.insert(n);
      c.take(what);
      is_over = is_over || what == step::client_gone || what == step::brain_gone;
      // An ended exchange has no speech, and none begins.
      for (const auto& [speech, one] : c.w.speeches) RC_ASSERT(c.w.exchanges[one.n] == ended::no);
      RC_ASSERT(c.w.speeches.size() <= 1U);
      RC_ASSERT(!c.w.overtook_an_end);
      if (what == step::late_chunk && c.w.speeches.empty()) RC_ASSERT(c.w.received.size() == speech_before);
      for (const auto n : gone) RC_ASSERT(c.w.exchanges[n] != ended::no);
      if (!c.w.client.is_playing() && c.w.client.menu() == menu::none) RC_ASSERT(c.w.speaker.empty());
    }
    c.w.fence();
    while (!c.w.ending.empty()) c.w.settle_end(c.w.ending.front());
    const auto cancels = c.w.count(c.w.to_brain, tag::brain_cancel);
    const auto by_key = c.w.count(c.w.sent, tag::cancel);
    RC_ASSERT(cancels >= bare);
    if (!is_over) RC_ASSERT(answered_cancels(c.w) == bare + by_key);
    // Every text shown as the answer of a speech has its end.
    if (is_over || !c.w.speeches.empty()) return;
    std::size_t begun = 0;
    for (const auto& f : c.w.received) begun += f.tag == tag::text && f.payload.starts_with(ai_prefix) ? 1U : 0U;
    RC_ASSERT(c.w.count(c.w.received, tag::speech_end) >= begun);
  }));
}
