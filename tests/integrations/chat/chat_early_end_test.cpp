// A reply whose turn is stopped by nobody but its time or its budget: people read why it ended, once.
#include <algorithm>
#include <utility>

#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using namespace quell::integrations::chat::testing;

namespace {

using strings = std::vector<std::string>;

const operation_id turn = operation_id::fresh();
const std::string used_up = "post ⚠️ The reply ended early: its budget is used up.";

/// As the ledger writes it: the stop, the end of the turn, the end of its operation.
void stop_by_budget(played_service& s) { s.tell("operation_cancelling", turn, "{}"); }
void end_by_budget(played_service& s) {
  s.abort(turn, "budget");
  s.tell("operation_failed", turn, "{}");
}

} // namespace

TEST_CASE("a reply that its time or budget ends says so, and one that a person stopped does not", "[outbox]") {
  const auto [reason, words] =
      GENERATE(as<std::pair<std::string, std::string>>(), std::pair("timeout", "it took too long"),
               std::pair("budget", "its budget is used up"), std::pair("error", "something went wrong"));
  const bool has_text = GENERATE(false, true);
  const auto ordered = GENERATE(as<std::string>(), "", "before", "behind"); // by a person, as well
  const auto cancel = cancel_id::fresh();
  const auto fence = [&](played_service& s) {
    s.tell("cancel_fenced", turn,
           R"({"cancel":")" + cancel.text() + R"(","target":{"operation":")" + turn.text() + R"("}})");
  };
  played_service s{outbox_rules{}};
  s.start(turn);
  if (has_text) s.delta(turn, 0, "One");
  s.pump();
  if (ordered == "before") fence(s);
  s.tell("operation_cancelling", turn, ordered == "before" ? R"({"cancel":")" + cancel.text() + R"("})" : "{}");
  if (ordered == "behind") fence(s);
  s.run_dry();
  s.abort(turn, ordered == "before" ? "user" : reason);
  s.tell(ordered == "before" ? "operation_cancelled" : "operation_failed", turn, "{}");
  s.run_dry();
  const auto count =
      std::count(s.posted_texts.begin(), s.posted_texts.end(), "post ⚠️ The reply ended early: " + words + ".");
  CHECK(count == (ordered.empty() ? 1 : 0));
  if (has_text && ordered.empty()) CHECK(s.messages.at("1") == "One\n⏹ cut off");
}

TEST_CASE("a turn that newer words take the place of ends without a word", "[outbox]") {
  played_service s{outbox_rules{}};
  s.start(turn);
  s.tell("operation_cancelling", turn, "{}");
  s.abort(turn, "superseded");
  s.tell("operation_cancelled", turn, "{}");
  s.run_dry();
  CHECK(s.posted_texts.empty());
}

TEST_CASE("a reply that its budget ends says so, also if quelld dies between its stop and its end", "[restart]") {
  const bool has_text = GENERATE(false, true);
  const bool is_whole = GENERATE(true, false); // all events of the time between are still there
  played_service s{outbox_rules{}};
  s.start(turn);
  if (has_text) s.delta(turn, 0, "One");
  s.run_dry();
  stop_by_budget(s);
  s.run_dry();
  next_life next(s);
  CHECK(next.box.recover(s.box.kept(), next.now) == std::vector<operation_id>{turn});
  next.box.caught_up(next.events, is_whole);
  next.box.looked(turn, is_whole ? status::cancelling : status::failed, next.now);
  if (is_whole) end_by_budget(next);
  next.run_dry();
  const auto message = is_whole ? used_up : "post ⚠️ The reply ended early.";
  CHECK(std::count(next.posted_texts.begin(), next.posted_texts.end(), message) == 1);
  if (!is_whole) { // what comes of its end all the same adds nothing
    end_by_budget(next);
    next.run_dry();
  }
  CHECK(std::count_if(next.posted_texts.begin(), next.posted_texts.end(),
                      [](const auto& text) { return text.find("ended early") != std::string::npos; }) == 1);
  if (has_text) CHECK(next.messages.at("1") == "One\n⏹ cut off");
}
