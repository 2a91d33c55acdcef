// The right to stop by voice while an answer is spoken: below its exchange nothing runs any more, and its sound is
// still heard.
#include <catch2/catch.hpp>

#include "tests/controller/commands/commands_world.hpp"

using namespace quell;
using namespace quell::controller;
using quell::controller::core_tests::commands_world;
using turns::message_answer;
using turns::standing;

namespace {

struct spoken_world : commands_world {
  const scope_path a = *scope_path::parse("a");

  operation_id add(quell::kind what, const std::string& owner, std::optional<operation_id> parent = {}) {
    create_order o;
    o.by = admin();
    o.kind = what;
    o.scope = a;
    o.parent = parent;
    o.owner = records::person{owner, owner};
    o.kind_data = "{}";
    const auto made = done(commands::create_local{std::move(o), operation_id::fresh()});
    REQUIRE(made);
    return made->id;
  }
  operation_id exchange_of(const std::string& owner) { return add(kind::exchange, owner); }

  /// Somebody says "stop" in a room of two people, while this exchange is answered.
  commands::take_message stop_of(const std::string& author, const std::optional<operation_id>& answered = {}) {
    commands::take_message what;
    what.order.by = admin();
    what.order.scope = a;
    what.order.text = "stop";
    what.order.author = {author, author};
    what.order.modality = turns::modality::voice;
    what.order.humans_present = 2;
    what.order.exchange = exchange_of(author);
    what.order.wants = turns::message_order::scope_of_decision::only_stop;
    what.word = "stop";
    if (answered) what.order.answered = {*answered};
    what.exchange_result = "{}";
    what.message = message_id::fresh();
    what.turn = operation_id::fresh();
    what.cancel = cancel_id::fresh();
    return what;
  }
  message_answer decided(const commands::take_message& what) {
    const auto taken = done(what);
    REQUIRE(taken.answer);
    return *taken.answer;
  }
  bool is_stopped(const operation_id& id) const {
    const auto view = c->operations().view(id, now);
    return !view || view->hot.now == status::cancelling || view->hot.now == status::cancelled;
  }
};

} // namespace

TEST_CASE("who hears the answer to his own words may stop it by voice", "[voice]") {
  spoken_world w;
  const auto sounds = w.exchange_of("ann");
  const auto answer = w.decided(w.stop_of("ann", sounds));
  CHECK(answer.decision == message_answer::decided::cancel);
  CHECK(answer.standing == standing::speaker_owns);
  CHECK(w.is_stopped(sounds));
}

TEST_CASE("the sound of an answer to somebody else gives no right to stop it", "[voice]") {
  spoken_world w;
  const auto sounds = w.exchange_of("ann");
  const auto answer = w.decided(w.stop_of("bob", sounds));
  CHECK(answer.decision == message_answer::decided::turn);
  CHECK(answer.why == "no_standing");
  CHECK(answer.cancel_word == "stop");
  CHECK_FALSE(w.is_stopped(sounds));
}

TEST_CASE("words that wait for an answer make nobody an owner", "[voice]") {
  spoken_world w;
  const auto waits = w.exchange_of("ann");
  const auto answer = w.decided(w.stop_of("ann"));
  CHECK(answer.decision == message_answer::decided::turn);
  CHECK_FALSE(w.is_stopped(waits));
}

TEST_CASE("the answer to a refused stop makes nobody an owner, neither its sound nor what runs below it", "[voice]") {
  spoken_world w;
  const auto work = w.add(kind::turn, "ann");
  const auto refused = w.exchange_of("bob");
  const bool has_task = GENERATE(false, true); // its voice, which gives the rest of the answer
  if (has_task) w.add(kind::turn, "bob", refused);
  auto what = w.stop_of("bob", refused);
  what.order.refused_stops = {refused};
  const auto answer = w.decided(what);
  CHECK(answer.decision == message_answer::decided::turn);
  CHECK(answer.why == "no_standing");
  CHECK_FALSE(w.is_stopped(work));
  // The same of words that were not a stop:
  CHECK(w.decided(w.stop_of("bob", refused)).decision == message_answer::decided::cancel);
  CHECK(w.is_stopped(work));
}

TEST_CASE("an answer that has ended meanwhile gives no standing", "[voice]") {
  spoken_world w;
  const auto answered = w.exchange_of("ann");
  const auto what = w.stop_of("ann", answered);
  w.done(commands::end_local{answered, {}});
  const auto answer = w.decided(what);
  CHECK(answer.decision == message_answer::decided::turn);
  CHECK(answer.why == "nothing_active");
}

TEST_CASE("the author of a stop is answered in words that are kept before the event about them, and once") {
  spoken_world w;
  records::message_record words;
  words.id = message_id::fresh();
  words.scope = w.a;
  words.role = records::message_role::assistant;
  words.text = "Stopping.";
  records::event_record event;
  event.type = event_type::acknowledgement;
  event.scope = w.a;
  const auto stop = message_id::fresh();
  const auto rows_of = [&w](std::size_t from) {
    std::string kinds;
    for (; from < w.edges.batches.size(); ++from)
      for (const auto& e : w.edges.batches[from])
        kinds += std::holds_alternative<records::put_message>(e)           ? "words "
                 : std::holds_alternative<records::put_event>(e)           ? "event "
                 : std::holds_alternative<records::acknowledge_message>(e) ? "over "
                                                                           : "";
    return kinds;
  };
  auto before = w.edges.batches.size();
  w.done(commands::acknowledge_stop{stop, {{words, event}}, false});
  CHECK(rows_of(before) == "words event ");
  CHECK(w.events("acknowledgement") == 1);
  before = w.edges.batches.size();
  w.done(commands::acknowledge_stop{stop, {{{}, event}}, true});
  CHECK(rows_of(before) == "event over ");
}
