// Five thousand channels that speak at once, with a service that now and then refuses: nothing is lost, nobody is
// forgotten, and what is kept for them is bounded.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "integrations/chat/outbox.hpp"
#include "protocol/id.hpp"

using namespace quell;
using namespace quell::integrations::chat;

namespace {

constexpr int channels = 5'000;

/// A service that takes a post of some channels only at the second attempt.
struct busy_service {
  explicit busy_service(outbox_rules r) : box(std::move(r)) {}

  outbox box;
  boot_time now{1'000'000'000'000};
  std::uint64_t events = 0, posts = 0;
  std::map<std::string, std::map<std::string, std::string>> shown{}; ///< place → message → text
  std::set<std::string> delayed{};
  std::size_t most_in_flight = 0;

  static scope_path place(int i) {
    return scope_path::parse("discord/g" + std::to_string(i / 10) + "/c" + std::to_string(i)).value();
  }

  void tell(int i, const std::string& type, const operation_id& turn, const std::string& data) {
    event e;
    e.id = ++events;
    e.type = event_type_of(type).value();
    e.scope = place(i);
    e.operation = e.root = turn;
    e.data = data;
    box.on_event(e, now);
  }

  done_how perform(const action& a) {
    const auto& where = a.place.text();
    const auto number = std::hash<std::string>{}(where);
    if (number % 7 < 2 && delayed.insert(where).second)
      return number % 7 == 0 ? done_how{outcome::later, {}, milliseconds{5'000}} : done_how{outcome::not_sent};
    if (a.what == action_kind::react) return {};
    const auto id = a.what == action_kind::post ? std::to_string(++posts) : a.message;
    shown[where][id] = a.text;
    return {outcome::sent, id};
  }

  void run_dry() {
    for (int wave = 0; wave < 200; ++wave) {
      const auto actions = box.due(now, channels);
      most_in_flight = std::max(most_in_flight, box.in_flight());
      for (const auto& a : actions) box.done(a.number, perform(a), now);
      if (!actions.empty()) continue;
      const auto next = box.next_at(now);
      if (!next) return;
      now = std::max(now, *next);
    }
    FAIL("the outbox never runs dry");
  }
};

} // namespace

TEST_CASE("five thousand channels speak at once, and each gets its whole reply", "[outbox]") {
  outbox_rules rules;
  rules.can_take_back = true;
  rules.of_place = {milliseconds{1'000}, 5};
  std::vector<std::string> reports;
  rules.report = [&](const std::string& what) { reports.push_back(what); };
  busy_service s(rules);
  std::vector<operation_id> turns;
  for (int i = 0; i < channels; ++i) turns.push_back(operation_id::fresh());
  const auto turn = [&](int i) { return turns[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < channels; ++i) {
    decision waits;
    waits.what = decided::turn;
    waits.message = message_id::fresh();
    waits.turn = turn(i);
    waits.position = 1;
    s.box.on_decision(busy_service::place(i), waits, "m" + std::to_string(i), s.now);
  }
  for (int i = 0; i < channels; ++i) s.tell(i, "turn_start", turn(i), R"({"message":""})");
  for (int i = 0; i < channels; ++i) s.tell(i, "text_delta", turn(i), R"({"offset":0,"text":"Hello, "})");
  s.run_dry();
  for (int i = 0; i < channels; ++i)
    s.tell(i, "turn_complete", turn(i), R"({"text":"Hello, channel )" + std::to_string(i) + R"("})");
  s.run_dry();
  CHECK(s.box.dropped() == 0);
  CHECK(reports.empty());
  CHECK(s.box.waiting() == 0);
  CHECK(s.box.in_flight() == 0);
  const auto kept = nlohmann::json::parse(s.box.kept());
  CHECK((kept["parts"].empty() && kept["replies"].empty() && kept["stops"].empty()));
  CHECK(s.box.places() <= static_cast<std::size_t>(channels));
  CHECK(s.most_in_flight <= static_cast<std::size_t>(channels)); // one in each at most
  REQUIRE(s.shown.size() == static_cast<std::size_t>(channels));
  int whole = 0;
  for (int i = 0; i < channels; ++i) {
    const auto& here = s.shown.at(busy_service::place(i).text());
    whole += here.size() == 1 && here.begin()->second == "Hello, channel " + std::to_string(i) ? 1 : 0;
  }
  CHECK(whole == channels);
}

TEST_CASE("a stop in one of five thousand busy channels goes first", "[outbox]") {
  outbox_rules rules;
  rules.of_all = {milliseconds{25}, 1};
  busy_service s(rules);
  for (int i = 0; i < channels; ++i) s.tell(i, "turn_complete", operation_id::fresh(), R"({"text":"An answer."})");
  const auto stop = message_id::fresh();
  decision d;
  d.what = decided::cancel;
  d.message = stop;
  d.cancel = cancel_id::fresh();
  const auto last = busy_service::place(channels - 1);
  s.box.on_decision(last, d, "m-stop", s.now);
  s.tell(channels - 1, "acknowledgement", operation_id::fresh(),
         R"({"message":")" + stop.text() + R"(","cancel":")" + d.cancel->text() +
             R"(","text":null,"reaction":"🛑"})");
  const auto actions = s.box.due(s.now);
  REQUIRE_FALSE(actions.empty());
  CHECK(actions.front().place == last);
  CHECK(actions.front().is_urgent);
  CHECK(s.box.dropped() == 0);
}
