// A post of which nobody knows whether it arrived, where the service can be asked for it.
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

const operation_id turn = operation_id::fresh();

outbox_rules with_buttons() {
  outbox_rules r;
  r.has_buttons = r.posts_are_found = true;
  return r;
}

} // namespace

TEST_CASE("where posts can be found, what was being sent is looked for, and stands once", "[restart]") {
  auto rules = with_buttons();
  rules.most_length = 64;
  const bool has_arrived = GENERATE(true, false), can_be_known = GENERATE(true, false);
  played_service s(rules);
  s.start(turn);
  s.complete(turn, std::string(60, 'a') + "\n" + std::string(60, 'b'));
  const auto actions = s.only_due();
  const auto kept = s.box.kept();
  if (has_arrived) s.perform(actions);
  next_life next(s);
  next.box.recover(kept, next.now);
  next.box.caught_up(next.events, true);
  next.box.looked(turn, std::nullopt, next.now);
  const auto found = next.only_due();
  REQUIRE(found.what == action_kind::find);
  CHECK(found.key == actions.key);
  next.box.done(found.number, {outcome::not_sent}, next.now); // the service is away for a moment
  next.pass(milliseconds{60'000});
  const auto again = next.only_due();
  REQUIRE(again.what == action_kind::find);
  done_how how{outcome::refused};
  if (can_be_known) how = has_arrived ? done_how{outcome::sent, "1"} : done_how{outcome::absent};
  next.box.done(again.number, how, next.now);
  next.run_dry();
  const auto a = std::string(60, 'a') + "\n", b = std::string(60, 'b');
  CHECK(next.all() == (can_be_known ? a + b : (has_arrived ? a : "") + "[…]" + b));
  CHECK(next.keeps_nothing());
}

TEST_CASE("a reply that was being sent and did not arrive is not sent once it is stopped", "[restart]") {
  auto rules = with_buttons();
  const auto what = GENERATE(outcome::absent, outcome::refused);
  played_service s(rules);
  s.start(turn);
  s.delta(turn, 0, "On and on");
  (void)s.only_due();
  next_life next(s);
  next.box.recover(s.box.kept(), next.now);
  next.abort(turn, "user");
  const auto found = next.only_due();
  next.box.done(found.number, {what}, next.now);
  next.run_dry();
  CHECK(next.posted_texts.empty());
  CHECK(next.keeps_nothing());
}

TEST_CASE("a live reply that was being sent is found with its Stop button, and loses it with its turn", "[restart]") {
  auto rules = with_buttons();
  const bool is_stopped_before = GENERATE(true, false);
  played_service s(rules);
  s.start(turn);
  s.delta(turn, 0, "On and on");
  const auto actions = s.only_due();
  if (is_stopped_before) s.abort(turn, "user");
  s.perform(actions);
  next_life next(s);
  next.box.recover(s.box.kept(), next.now);
  if (!is_stopped_before) next.abort(turn, "user");
  next.box.caught_up(next.events, true);
  const auto tries = next.only_due();
  next.box.done(tries.number, {outcome::not_sent}, next.now); // the service is away for a moment
  next.pass(milliseconds{60'000});
  const auto found = next.only_due();
  REQUIRE(found.what == action_kind::find);
  next.box.done(found.number, {outcome::sent, "1"}, next.now);
  next.run_dry();
  REQUIRE_FALSE(next.sent_actions.empty());
  CHECK(next.sent_actions.back().what == action_kind::edit);
  CHECK_FALSE(next.sent_actions.back().is_live);
  CHECK(next.order.size() == 1);
}

TEST_CASE("of a message that only names a tool no text is missing, whether or not it is found", "[restart]") {
  const auto what = GENERATE(outcome::sent, outcome::absent, outcome::refused);
  played_service s(with_buttons());
  s.start(turn);
  s.tell("tool_start", turn, R"({"name":"exec"})");
  const auto post = s.only_due();
  REQUIRE(post.text == "⏳ exec");
  const auto kept = s.box.kept();
  if (what == outcome::sent) s.perform(post);
  next_life next(s);
  next.box.recover(kept, next.now);
  next.box.caught_up(next.events, true);
  next.box.looked(turn, status::running, next.now);
  const auto found = next.only_due();
  REQUIRE(found.what == action_kind::find);
  next.box.done(found.number, {what, what == outcome::sent ? "1" : ""}, next.now);
  next.delta(turn, 0, "Done.");
  next.complete(turn, "Done.");
  next.run_dry();
  CHECK(next.all() == "Done.");
  CHECK(next.order.size() == 1);
  CHECK(next.keeps_nothing());
}
