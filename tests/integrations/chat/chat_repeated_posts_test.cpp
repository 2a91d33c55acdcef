// A post of which nobody knows whether it arrived, where the service makes a repeated post only once.
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

using strings = std::vector<std::string>;

const operation_id turn = operation_id::fresh(), call = operation_id::fresh();
const cancel_id cancel = cancel_id::fresh();

outbox_rules with_repeats() {
  outbox_rules r;
  r.has_buttons = r.posts_repeat = true;
  return r;
}

/// The life after a crash: it knows its messages and their keys, and has read all events.
struct recovered_life : next_life {
  recovered_life(const played_service& before, const std::string& kept) : next_life(before) {
    keys = before.keys;
    box.recover(kept, now);
    box.caught_up(events, true);
    box.looked(turn, status::running, now);
  }
};

void stop(played_service& s) {
  const auto of_cancel = R"({"cancel":")" + cancel.text() + R"(")";
  s.tell("operation_cancelling", turn, of_cancel + "}");
  s.tell("operation_cancelled", turn, of_cancel + "}");
  s.tell("cancel_settled", turn, of_cancel + R"(,"proven":true,"not_confirmed":0,"operations":1})");
}

/// The last thing sent about the message: an edit without a Stop button.
bool has_no_button(const played_service& s, const std::string& id) {
  for (auto a = s.sent_actions.rbegin(); a != s.sent_actions.rend(); ++a)
    if (a->message == id || a->what == action_kind::post) return a->what == action_kind::edit && !a->is_live;
  return false;
}

} // namespace

TEST_CASE("a message that only names a tool and was being sent at a crash is ended with its turn", "[restart]") {
  const bool has_arrived = GENERATE(true, false), is_stopped = GENERATE(true, false);
  CAPTURE(has_arrived, is_stopped);
  played_service s(with_repeats());
  s.start(turn);
  s.tell("tool_start", turn, R"({"name":"exec"})");
  const auto post = s.only_due();
  REQUIRE(post.text == "⏳ exec");
  REQUIRE(post.is_live);
  const auto kept = s.box.kept();
  if (has_arrived) s.perform(post);
  recovered_life next(s, kept);
  next.run_dry();
  CHECK(next.messages == std::map<std::string, std::string>{{"1", "⏳ exec"}});
  if (is_stopped)
    stop(next);
  else
    next.complete(turn, "");
  next.run_dry();
  CHECK(next.messages == std::map<std::string, std::string>{{"1", is_stopped ? "⏹ stopped" : "✓"}});
  CHECK(has_no_button(next, "1"));
  CHECK(next.keeps_nothing());
}

TEST_CASE("a live reply of which nobody knows is ended by a stop, and none of its text is sent behind that",
          "[restart]") {
  const bool has_arrived = GENERATE(true, false), has_crashed = GENERATE(true, false);
  CAPTURE(has_arrived, has_crashed);
  played_service s(with_repeats());
  s.start(turn);
  s.delta(turn, 0, "first");
  const auto post = s.only_due();
  if (has_arrived) s.perform(post);
  s.box.done(post.number, {outcome::unknown}, s.now);
  stop(s);
  recovered_life next(s, s.box.kept());
  auto& last = has_crashed ? next : s;
  last.run_dry();
  CHECK(last.messages == std::map<std::string, std::string>{{"1", has_arrived ? "first\n⏹ stopped" : "⏹ stopped"}});
  if (has_arrived) CHECK(has_no_button(last, "1"));
  CHECK(last.posted_texts.size() == (has_arrived && !has_crashed ? 2U : 1U));
  CHECK(last.keeps_nothing());
}

TEST_CASE("a live reply is ended also if it was in flight when the stop came and nobody knows of it afterwards",
          "[restart]") {
  played_service s(with_repeats());
  s.start(turn);
  s.delta(turn, 0, "first");
  const auto post = s.only_due();
  s.perform(post);
  stop(s);
  s.box.done(post.number, {outcome::unknown}, s.now);
  s.run_dry();
  CHECK(s.messages == std::map<std::string, std::string>{{"1", "first\n⏹ stopped"}});
  CHECK(s.order.size() == 1);
  CHECK(has_no_button(s, "1"));
}

TEST_CASE("a mark of which nobody knows is made again as it was", "[restart]") {
  played_service s(with_repeats());
  s.start(turn);
  s.delta(turn, 0, "first");
  s.box.done(s.only_due().number, {outcome::unknown}, s.now);
  s.tell("operation_cancelling", turn, R"({"cancel":")" + cancel.text() + R"("})");
  s.pass(milliseconds{60'000});
  const auto mark = s.only_due();
  CHECK(mark.text == "⏹ stopping…");
  s.perform(mark);
  s.box.done(mark.number, {outcome::unknown}, s.now);
  stop(s);
  s.run_dry();
  CHECK(s.messages == std::map<std::string, std::string>{{"1", "⏹ stopped"}});
}

TEST_CASE("a turn that goes on behind a crash replaces text that was being sent, and keeps what stands before it",
          "[restart]") {
  const bool has_arrived = GENERATE(true, false);
  CAPTURE(has_arrived);
  played_service s(with_repeats());
  s.start(turn);
  s.delta(turn, 0, "Schön. Half a wörd");
  const auto post = s.only_due();
  const auto kept = s.box.kept();
  if (has_arrived) s.perform(post);
  recovered_life next(s, kept);
  next.tell("turn_resumed", turn, R"({"offset":7})");
  next.delta(turn, 7, "Another end.");
  next.complete(turn, "Schön. Another end.");
  next.run_dry();
  CHECK(next.messages == std::map<std::string, std::string>{{"1", "Schön. Another end."}});
}

TEST_CASE("a question that was being sent at a crash loses its buttons with its answer", "[restart]") {
  const bool has_arrived = GENERATE(true, false), is_stopped = GENERATE(true, false);
  CAPTURE(has_arrived, is_stopped);
  played_service s(with_repeats());
  s.start(turn);
  s.tell("approval_required", turn, R"({"operation":")" + call.text() + R"(","name":"exec","input":{}})");
  const auto post = s.only_due();
  REQUIRE(post.asks);
  const auto kept = s.box.kept();
  if (has_arrived) s.perform(post);
  recovered_life next(s, kept);
  if (is_stopped)
    stop(next);
  else
    next.tell("approval_resolved", turn,
              R"({"operation":")" + call.text() + R"(","decision":"approved","by":{"id":"m","name":"Mia"}})");
  next.run_dry();
  const std::string how = is_stopped ? "no longer needed" : "approved by Mia";
  CHECK(next.messages == std::map<std::string, std::string>{{"1", "✋ Waiting for approval: exec {}\n→ " + how}});
  CHECK(has_no_button(next, "1"));
  CHECK(next.keeps_nothing());
}
