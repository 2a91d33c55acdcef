// Connections that end while a 07 is owed its answer, or in speech: what still goes out, and in which order.
#include <catch2/catch.hpp>

#include "integrations/voice/words.hpp"
#include "tests/integrations/voice/voice_world.hpp"

using namespace quell;
using namespace quell::integrations::voice;
using namespace quell::integrations::voice::testing;

namespace {

enum class parting { client_gone, broken, brain_gone, shut_down };

struct parting_world : world {
  /// To the first chunk of the answer, then as many 07 whose cancels are not fenced.
  void cancelled_in_speech(int keys) {
    speak("tell me a story");
    answer("Once upon a time.");
    chunk();
    fences_at_once = false;
    for (int i = 0; i < keys; ++i) gateway.on_client_message({tag::cancel, {}});
    run();
  }
  void part(parting how) {
    if (how == parting::client_gone) gateway.client_gone();
    if (how == parting::broken) gateway.broken({"bad_frame", "a frame with tag 44", {}});
    if (how == parting::brain_gone) gateway.brain_gone("it crashed");
    if (how == parting::shut_down) gateway.shut_down({"shutting_down", "quelld is stopping", {}});
    run();
  }
  std::size_t cancelled() const {
    std::size_t n = 0;
    for (const auto& f : received) n += f.tag == tag::notice && f.payload == cancelled_notice ? 1U : 0U;
    return n;
  }
};

} // namespace

TEST_CASE("a connection that ends answers each 07 that was taken, once its cancel is fenced", "[voice]") {
  const auto how = GENERATE(parting::client_gone, parting::broken, parting::brain_gone, parting::shut_down);
  const int keys = GENERATE(1, 2);
  parting_world w;
  w.cancelled_in_speech(keys);
  w.part(how);
  CHECK(w.gateway.is_over());
  CHECK_FALSE(w.gateway.is_finished());
  CHECK(w.awaits_answers);
  CHECK_FALSE(w.is_closed);
  CHECK(w.cancelled() == 0); // never ahead of the fence
  CHECK(w.count(w.received, tag::error) == 0);
  w.gateway.on_client_message({tag::cancel, {}}); // behind the end nothing is taken
  w.part(parting::broken);
  w.fence();
  CHECK(w.cancelled() == static_cast<std::size_t>(keys));
  CHECK(w.is_closed);
  CHECK(w.gateway.is_finished());
  CHECK(w.exchanges[1] == ended::cancelled);
  CHECK(w.count(w.received, tag::speech_end) == 1);
  CHECK(w.count(w.received, tag::error) == (how == parting::client_gone ? 0U : 1U));
  if (how != parting::client_gone) CHECK(w.received.back().tag == tag::error);
  const auto sent = w.received.size();
  w.gateway.waited();
  w.gateway.fenced(1);
  w.run();
  CHECK(w.received.size() == sent);
}

TEST_CASE("a cancel that is not fenced in time is not called cancelled, and the connection ends", "[voice]") {
  const auto how = GENERATE(parting::client_gone, parting::broken, parting::brain_gone, parting::shut_down);
  parting_world w;
  w.cancelled_in_speech(2);
  w.part(how);
  w.gateway.waited();
  w.run();
  CHECK(w.cancelled() == 0);
  CHECK(w.count(w.received, tag::error) == (how == parting::client_gone ? 0U : 1U));
  CHECK(w.is_closed);
  const auto sent = w.received.size();
  w.fence();
  CHECK(w.received.size() == sent);
}

TEST_CASE("the wait for answers changes nothing in a connection that lives", "[voice]") {
  parting_world w;
  w.cancelled_in_speech(1);
  w.gateway.waited();
  w.run();
  CHECK(w.cancelled() == 0);
  CHECK_FALSE(w.is_closed);
  w.fence();
  CHECK(w.cancelled() == 1);
}

TEST_CASE("an end in speech sends one 84 for each answer, before the error", "[voice]") {
  const auto how = GENERATE(parting::client_gone, parting::broken, parting::brain_gone, parting::shut_down);
  parting_world w;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.answer_frame({tag::answer, "And then."});
  w.chunk();
  w.part(how);
  CHECK_FALSE(w.awaits_answers);
  CHECK(w.is_closed);
  CHECK(w.speeches.empty());
  CHECK(w.count(w.received, tag::speech_end) == 2);
  if (how != parting::client_gone) CHECK(w.received.back().tag == tag::error);
}

TEST_CASE("an answer that waits behind a cancelled at the end is not spoken, and has its 84", "[voice]") {
  const auto how = GENERATE(parting::client_gone, parting::broken, parting::brain_gone, parting::shut_down);
  parting_world w;
  w.cancelled_in_speech(1);
  w.speak("next");
  w.answer("Another story.");
  w.chunk("BBBB");
  const auto chunks = w.count(w.received, tag::speech);
  w.part(how);
  w.fence();
  CHECK(w.cancelled() == 1);
  CHECK(w.count(w.received, tag::speech) == chunks);
  CHECK(w.count(w.received, tag::speech_end) == 2);
  CHECK(w.speeches.empty());
  CHECK(w.is_closed);
}

TEST_CASE("a 07 behind an answer that was heard is answered at the end, once the mark is durable", "[voice]") {
  const auto how = GENERATE(parting::client_gone, parting::broken, parting::brain_gone, parting::shut_down);
  parting_world w;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk();
  w.end_speech();
  w.fences_at_once = false;
  w.gateway.on_client_message({tag::cancel, {}});
  w.part(how);
  CHECK(w.cancelled() == 0);
  w.mark();
  CHECK(w.cancelled() == 1);
  CHECK(w.is_closed);
}

TEST_CASE("the end of quelld leaves the exchanges to the ledger, and tells the client", "[voice]") {
  parting_world w;
  w.speak("tell me a story");
  w.answer("Once upon a time.");
  w.chunk();
  w.part(parting::shut_down);
  CHECK(w.exchanges[1] == ended::no);
  CHECK(w.count(w.to_brain, tag::brain_cancel) == 0);
  CHECK(w.refusal.find("shutting_down") != std::string::npos);
  CHECK(w.gateway.is_finished());
}
