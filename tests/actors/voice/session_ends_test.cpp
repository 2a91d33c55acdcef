// The end of an exchange and its stops, in each order in which the ledger can take them.
#include <catch2/catch.hpp>

#include "controller/commands/order_cancel.hpp"
#include "tests/actors/voice/session_world.hpp"

using namespace quell;
using namespace quell::controller::voice::testing;
using voices::cancelled_notice;
using voices::stopped_notice;

TEST_CASE("a brain knows of each exchange before any cancel of it", "[voice]") {
  session_world w;
  w.client(voices::tag::resume);
  CHECK(w.brain->begun_behind.empty());
  w.brain_says("Once upon a time.");
  w.stop_elsewhere();
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.brain->begun_behind == std::vector<std::size_t>{0}); // the cancel is the first frame
  CHECK(w.cancels_at_brain() == 1);
}

TEST_CASE("an exchange whose end is durable completed, and a stop behind it finds nothing", "[voice]") {
  session_world w;
  w.speak_and_end();
  w.commit();
  CHECK(w.end_of(1) == status::completed);
  w.stop_elsewhere();
  w.commit();
  CHECK(w.cancels_at_brain() == 0);
  CHECK(w.notices(stopped_notice) == 0);
  CHECK(w.ends_of_speech() == 1);
}

TEST_CASE("a stop that the ledger takes before the end cancels the exchange, and the brain is told", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  const bool is_signalled = GENERATE(false, true); // the ledger's sweep comes before the end, or finds it
  const bool is_alone = GENERATE(true, false);     // then the sweep begins with the stop
  if (!is_alone) w.begin_elsewhere();
  w.stop_elsewhere();
  if (is_signalled) w.write();
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  CHECK(w.cancels_at_brain() == 0);
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.cancels_at_brain() == 1);
  CHECK(w.notices(stopped_notice) == 1);
  CHECK(w.notices(cancelled_notice) == 0);
  CHECK(w.ends_of_speech() == 1);
  w.brain_says("And then?"); // it answers what was cancelled
  w.commit();
  CHECK(w.edges.exchanges.size() == 1);
}

TEST_CASE("a stop that comes right behind the end changes nothing", "[voice]") {
  session_world w;
  w.speak_and_end();
  w.stop_elsewhere();
  w.commit();
  CHECK(w.end_of(1) == status::completed);
  CHECK(w.cancels_at_brain() == 0);
  CHECK(w.notices(stopped_notice) == 0);
}

TEST_CASE("two stops before the end are told once", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  const bool is_signalled = GENERATE(false, true);
  w.stop_elsewhere();
  if (is_signalled) w.write();
  w.stop_elsewhere();
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  w.stop_elsewhere();
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.cancels_at_brain() == 1);
  CHECK(w.notices(stopped_notice) == 1);
  CHECK(w.ends_of_speech() == 1);
}

TEST_CASE("a 07 while the end is on its way is answered once, whoever comes first", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  const bool is_stopped = GENERATE(false, true);
  const int keys = GENERATE(1, 2);
  if (is_stopped) w.stop_elsewhere();
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  for (int i = 0; i < keys; ++i) w.cancel_key();
  CHECK(w.notices(cancelled_notice) == 0);
  w.commit();
  CHECK(w.end_of(1) == (is_stopped ? status::cancelled : status::completed));
  CHECK(w.cancels_at_brain() == static_cast<std::size_t>(keys));
  CHECK(w.notices(cancelled_notice) == static_cast<std::size_t>(keys));
  CHECK(w.notices(stopped_notice) == 0); // the 07 has its own answer
  CHECK(w.ends_of_speech() == 1);
}

TEST_CASE("a 07 behind a stop that was told is forwarded and answered", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.stop_elsewhere();
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  w.commit();
  w.cancel_key();
  CHECK(w.cancels_at_brain() == 2);
  CHECK(w.notices(stopped_notice) == 1);
  CHECK(w.notices(cancelled_notice) == 1);
}

TEST_CASE("an answer that is spoken meanwhile goes on", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  controller::cancel_order only_the_first;
  only_the_first.by_token = session_world::admin();
  only_the_first.target = records::target_operation{w.edges.exchanges.at(0)};
  w.core->execute({controller::commands::order_cancel{std::move(only_the_first), cancel_id::fresh()}, {}}, w.now);
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  w.pass(std::chrono::seconds(2)); // it is not a rest of what was talked over
  w.brain_says("By the way.");
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.cancels_at_brain() == 1);
  CHECK(w.end_of(2) == std::nullopt);
  CHECK(w.ends_of_speech() == 1);
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  w.commit();
  CHECK(w.end_of(2) == status::completed);
  CHECK(w.ends_of_speech() == 2);
}

TEST_CASE("a client that leaves while the end is on its way leaves the end to the ledger", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  const bool is_stopped = GENERATE(false, true);
  if (is_stopped) w.stop_elsewhere();
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  w.talk->client_gone();
  CHECK(w.sessions_over == 1);
  const auto sent = w.link->sent.size();
  w.commit();
  CHECK(w.end_of(1) == (is_stopped ? status::cancelled : status::completed));
  CHECK(w.link->sent.size() == sent);
  CHECK(w.cancels_at_brain() == 0); // the next client begins with a ready frame
}

TEST_CASE("a client that leaves in an exchange stops it", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.talk->client_gone();
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.cancels_at_brain() == 1);
}

TEST_CASE("a brain is told that its client has left before what was left is cancelled", "[voice]") {
  const bool by_key = GENERATE(false, true), is_broken = GENERATE(false, true);
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  if (by_key) w.cancel_key();
  is_broken ? w.talk->client_broke({"bad_frame", "a frame with tag 44", {}}) : w.talk->client_gone();
  CHECK(w.brain->left_behind == (by_key ? 1U : 0U));
  CHECK(w.cancels_at_brain() == 1);
}

TEST_CASE("a 07 is answered when its connection ends before its cancel is durable", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.cancel_key();
  const int how = GENERATE(0, 1, 2);
  if (how == 0) w.talk->client_gone();
  if (how == 1) w.talk->client_broke({"bad_frame", "a frame with tag 44", {}});
  if (how == 2) w.brain->to.gone("the brain has gone");
  CHECK(w.sessions_over == 0);
  CHECK_FALSE(w.link->is_closed);
  CHECK(w.brain.use_count() == 1); // free for the next client
  CHECK(w.notices(cancelled_notice) == 0);
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.notices(cancelled_notice) == 1);
  CHECK(w.ends_of_speech() == 1);
  CHECK(w.link->is_closed);
  CHECK(w.sessions_over == 1);
  if (how != 0) CHECK(w.link->sent.back().tag == voices::tag::error);
}

TEST_CASE("a connection that was reset waits for no answer to its 07, and the cancel counts", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.cancel_key();
  w.link->was_reset = true;
  w.talk->client_gone();
  CHECK(w.sessions_over == 1);
  CHECK(w.link->is_closed);
  CHECK(w.brain.use_count() == 1);
  w.commit();
  w.loop->run_timers();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.notices(cancelled_notice) == 0);
  CHECK(w.sessions_over == 1);
}

TEST_CASE("a connection whose cancel does not become durable ends without a cancelled", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.cancel_key();
  w.talk->client_gone();
  w.loop->run_timers();
  CHECK(w.notices(cancelled_notice) == 0);
  CHECK(w.link->is_closed);
  CHECK(w.sessions_over == 1);
  const auto sent = w.link->sent.size();
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.link->sent.size() == sent);
}

TEST_CASE("an exchange whose turn was cancelled alone ends as cancelled, like by every other door", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.brain->to.answer_cancelled(w.edges.exchanges.at(0));
  w.brain->to.answer_cancelled(operation_id::fresh()); // not of this session
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.cancels_at_brain() == 1);
  CHECK(w.notices(stopped_notice) == 1);
  CHECK(w.ends_of_speech() == 1);
}

TEST_CASE("a gateway that dies while an end is on its way tells nobody", "[voice]") {
  session_world w;
  w.brain_says("Once upon a time.");
  w.commit();
  w.stop_elsewhere();
  w.client(voices::tag::interrupt_speech);
  w.client(voices::tag::resume);
  const auto sent = w.link->sent.size();
  w.talk.reset();
  w.house.reset();
  w.commit();
  CHECK(w.end_of(1) == status::cancelled);
  CHECK(w.link->sent.size() == sent);
  CHECK(w.cancels_at_brain() == 0);
}
