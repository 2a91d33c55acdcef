// Edits and deletions of requests, as configured; work that a word to stop has stopped stays stopped.
#include <catch2/catch.hpp>

#include <utility>

#include "integrations/chat/follow_ups.hpp"
#include "integrations/chat/link_changes.hpp"

using namespace quell;
using namespace quell::integrations::chat;

namespace {

using strings = std::vector<std::string>;

/// Answers at once.
class quick_host final : public host {
 public:
  void say(incoming_message, std::function<void(result<decision>)>) override { ++messages; }
  void stop(stop_order order, std::function<void(result<stop_answer>)> done) override {
    if (std::exchange(refuses_one, false)) return done(failure(error_code::storage_unavailable, "the disk is full"));
    stopped.push_back(order.reason + " by " + order.by.id);
    now = status::cancelled;
    done(stop_answer{{}, "stopping", 1});
  }
  void stop_once(signed_stop once, std::function<void(result<stop_answer>)> done) override {
    stop(std::move(once.order), std::move(done));
  }
  void approve(approval_order, std::function<void(result<void>)>) override {}
  void look(std::vector<operation_id>, std::function<void(std::vector<std::optional<status>>)> done) override {
    done({now});
  }
  void find(std::vector<scope_path> scopes, std::string id,
            std::function<void(result<std::optional<known_message>>)> done) override {
    for (const auto& scope : scopes) looked_up.push_back(scope.text() + " " + id);
    if (late) return void(late_answer = std::move(done));
    done(stored);
  }
  void events_after(std::string, std::uint64_t, std::function<void(result<event_page>)>) override {}
  std::optional<known_message> stored;
  strings looked_up;
  std::size_t messages = 0;
  bool late = false;
  bool refuses_one = false; ///< stop
  std::function<void(result<std::optional<known_message>>)> late_answer;
  std::optional<status> now = status::running;
  strings stopped;
};

struct changing_room {
  explicit changing_room(change_rules rules)
      : all({at, [] { return [](std::function<void()> job) { job(); }; }, [](const operation_id&) {},
             [](const std::string&) {},
             [this](const incoming_message& m, const std::string& answers) {
               new_texts.push_back(m.text + " > " + answers);
               is_for_the_bot = m.addressed;
             },
             rules}) {}

  void post(const std::string& text, std::optional<operation_id> turn) {
    all.message_posted("k", message(text));
    decision d;
    d.what = turn ? decided::turn : decided::cancel;
    d.turn = turn;
    all.decided("k", d);
  }
  static incoming_message message(const std::string& text) {
    incoming_message m;
    m.scope = *scope_path::parse("slack/T/C");
    m.id = "1";
    m.text = text;
    m.author = {"mia", "Mia"};
    return m;
  }

  quick_host at;
  strings new_texts;
  std::optional<bool> is_for_the_bot; ///< of the newest
  follow_ups all;
};

constexpr int a_million = 1'000'000;

/// Messages that can be counted while somebody holds them.
struct counted_messages {
  incoming_message next(std::size_t bytes = 100) {
    auto m = changing_room::message(std::to_string(++made) + std::string(bytes, '.'));
    m.source = {token, nullptr};
    return m;
  }
  std::size_t held() const { return static_cast<std::size_t>(token.use_count()) - 1; }
  std::shared_ptr<int> token = std::make_shared<int>();
  int made = 0;
};

} // namespace

TEST_CASE("a deletion stops the turn that waits or runs, by the author's own rule, unless it is ignored", "[chat]") {
  for (const auto now : {status::pending, status::running, status::paused}) {
    changing_room by_default({});
    by_default.at.now = now;
    by_default.post("do it", operation_id::fresh());
    by_default.all.deleted("k", {}, "1");
    CHECK(by_default.at.stopped == strings{"its message was deleted by mia"});
    by_default.all.deleted("k", {}, "1"); // it comes twice
    CHECK(by_default.at.stopped.size() == 1);
    changing_room tidy({on_deletion::ignore, on_edit::ask});
    tidy.at.now = now;
    tidy.post("do it", operation_id::fresh());
    tidy.all.deleted("k", {}, "1");
    CHECK(tidy.at.stopped.empty());
  }
}

TEST_CASE("an edit that does not tell whom it is for is for whom the message was", "[chat]") {
  for (const auto before : {std::optional<bool>(), std::optional(true)}) {
    changing_room room({});
    auto first = changing_room::message("first");
    first.addressed = before;
    room.all.message_posted("k", first);
    decision begun;
    begun.what = decided::turn;
    begun.turn = operation_id::fresh();
    room.all.decided("k", begun);
    room.all.edited("k", changing_room::message("second"), "1", false);
    REQUIRE(room.new_texts == strings{"second > 1"});
    CHECK(room.is_for_the_bot == before);
  }
}

TEST_CASE("an edit asks anew, only stops, or does nothing", "[chat]") {
  changing_room asks({}), stops({on_deletion::stop, on_edit::stop}), ignores({on_deletion::stop, on_edit::ignore});
  for (auto* room : {&asks, &stops, &ignores}) {
    room->post("first", operation_id::fresh());
    room->all.edited("k", changing_room::message("second"), "1", false);
  }
  CHECK(asks.at.stopped == strings{"its message was edited by mia"});
  CHECK(asks.new_texts == strings{"second > 1"});
  CHECK(stops.at.stopped == strings{"its message was edited by mia"});
  CHECK(stops.new_texts.empty());
  CHECK(ignores.at.stopped.empty());
  CHECK(ignores.new_texts.empty());
  stops.all.edited("k", changing_room::message("second"), "2", false); // only a preview was added
  CHECK(stops.at.stopped.size() == 1);
  ignores.all.deleted("k", {}, "1");
  CHECK(ignores.at.stopped.size() == 1);
}

TEST_CASE("an edit into a word to stop is a stop under every rule", "[chat]") {
  for (const auto how : {on_edit::ask, on_edit::stop, on_edit::ignore}) {
    changing_room room({on_deletion::ignore, how});
    room.post("do it", operation_id::fresh());
    room.all.edited("k", changing_room::message("stop"), "1", true);
    room.all.edited("k", changing_room::message("stop"), "1", true); // the same edit again
    CHECK(room.new_texts == strings{"stop > 1"});
  }
}

TEST_CASE("what a word to stop has stopped stays stopped if its message is deleted or edited", "[chat]") {
  changing_room room({});
  room.post("stop", std::nullopt);
  room.all.edited("k", changing_room::message("go on please"), "1", false);
  room.all.deleted("k", {}, "1");
  CHECK(room.new_texts.empty());
  CHECK(room.at.stopped.empty());
}

TEST_CASE("a deletion or an edit after a restart finds the request that an earlier process handed over", "[chat]") {
  const auto place = *scope_path::parse("slack/T/C/9");
  changing_room deletes({}), asks({}), same({}), nothing({}), ignores({on_deletion::ignore, on_edit::ignore});
  for (auto* room : {&deletes, &asks, &same, &ignores})
    room->at.stored = known_message{place, "first", {"tom", "Tom", {}}, operation_id::fresh()};
  deletes.all.deleted("k", {*scope_path::parse("slack/T/C"), place}, "1");
  CHECK(deletes.at.looked_up == strings{"slack/T/C 1", "slack/T/C/9 1"});
  CHECK(deletes.at.stopped == strings{"its message was deleted by tom"});
  deletes.all.deleted("k", {place}, "1"); // it comes twice
  CHECK(deletes.at.stopped.size() == 1);
  asks.all.edited("k", changing_room::message("second"), "1", false);
  CHECK(asks.at.stopped == strings{"its message was edited by tom"});
  CHECK(asks.new_texts == strings{"second > 1"});
  same.all.edited("k", changing_room::message("first"), "1", false); // only a preview was added
  CHECK(same.at.stopped.empty());
  CHECK(same.new_texts.empty());
  nothing.all.deleted("k", {place}, "1");
  nothing.all.edited("k", changing_room::message("second"), "1", false);
  CHECK(nothing.at.looked_up.size() == 2);
  CHECK(nothing.at.stopped.empty());
  CHECK(nothing.new_texts.empty());
  ignores.all.deleted("k", {place}, "1");
  ignores.all.edited("k", changing_room::message("second"), "1", false);
  CHECK(ignores.at.looked_up.empty());
}

TEST_CASE("changes that come while a request is looked up wait for it, and one look-up serves them", "[chat]") {
  const auto place = *scope_path::parse("slack/T/C");
  changing_room room({});
  room.at.late = true;
  room.all.edited("k", changing_room::message("second"), "1", false);
  room.all.deleted("k", {place}, "1");
  CHECK(room.at.looked_up.size() == 1);
  CHECK(room.at.stopped.empty());
  room.at.late_answer(std::optional(known_message{place, "first", {"mia", "Mia", {}}, operation_id::fresh()}));
  CHECK(room.at.stopped == strings{"its message was edited by mia"}); // the deletion waits for the turn of the edit
  CHECK(room.new_texts == strings{"second > 1"});
  room.all.deleted("j", {place}, "2");
  room.at.late_answer(failure(error_code::storage_unavailable, "the disk is full"));
  CHECK(room.at.stopped.size() == 1);
}

TEST_CASE("an edit that comes twice while its request is looked up is answered once", "[chat]") {
  changing_room room({});
  room.at.late = true;
  for (int i = 0; i < 2; ++i) room.all.edited("k", changing_room::message("second"), "1", false);
  room.at.late_answer(std::optional(
      known_message{*scope_path::parse("slack/T/C"), "first", {"mia", "Mia", {}}, operation_id::fresh()}));
  CHECK(room.at.stopped == strings{"its message was edited by mia"});
  CHECK(room.new_texts == strings{"second > 1"});
}

TEST_CASE("a turn that has ended stays as it is", "[chat]") {
  changing_room room({});
  room.post("first", operation_id::fresh());
  room.at.now = std::nullopt;
  room.all.edited("k", changing_room::message("second"), "1", false);
  room.all.deleted("k", {}, "1");
  CHECK(room.new_texts.empty());
  CHECK(room.at.stopped.empty());
}

TEST_CASE("an edit that takes the address away stops the turn and asks nothing", "[chat]") {
  const auto now = [](const char* text, std::optional<bool> addressed) {
    auto m = changing_room::message(text);
    m.addressed = addressed;
    return m;
  };
  for (const char* text : {"first", "second"}) { // only the mention is gone, or other words came
    changing_room room({});
    room.post("first", operation_id::fresh());
    room.all.edited("k", now(text, false), "1", false);
    CHECK(room.at.stopped == strings{"its message was edited, and is not for the bot now by mia"});
    CHECK(room.new_texts.empty());
    room.all.edited("k", now("third", false), "2", false);
    CHECK(room.at.stopped.size() == 1);
  }
  changing_room stored({}), unknown({}), stops({}), ignores({on_deletion::stop, on_edit::ignore});
  stored.at.stored = known_message{*scope_path::parse("slack/T/C"), "first", {"tom", "Tom", {}}, operation_id::fresh()};
  stored.all.edited("k", now("first", false), "1", false); // an earlier process handed it over
  CHECK(stored.at.stopped == strings{"its message was edited, and is not for the bot now by tom"});
  unknown.post("first", operation_id::fresh());
  unknown.all.edited("k", now("second", std::nullopt), "1", false); // the service does not say
  CHECK(unknown.new_texts == strings{"second > 1"});
  stops.post("first", operation_id::fresh());
  stops.all.edited("k", now("stop", false), "1", true); // a word to stop needs no address
  CHECK(stops.new_texts == strings{"stop > 1"});
  ignores.post("first", operation_id::fresh());
  ignores.all.edited("k", now("second", false), "1", false);
  CHECK(ignores.at.stopped.empty());
}

TEST_CASE("an edit that takes the address away stops the turn also if an earlier one could not", "[chat]") {
  changing_room room({});
  room.post("first", operation_id::fresh());
  room.at.refuses_one = true;
  for (const char* stamp : {"1", "2"}) {
    auto m = changing_room::message(stamp);
    m.addressed = false;
    room.all.edited("k", m, stamp, false);
  }
  CHECK(room.at.stopped == strings{"its message was edited, and is not for the bot now by mia"});
  CHECK(room.new_texts.empty());
}

TEST_CASE("of a million edits of a message that is not decided yet the newest counts", "[chat]") {
  changing_room room({});
  counted_messages texts;
  room.all.message_posted("k", texts.next());
  incoming_message newest;
  for (int i = 0; i < a_million; ++i) room.all.edited("k", newest = texts.next(), std::to_string(i), false);
  CHECK(texts.held() <= 2); // with ours
  CHECK(room.new_texts.empty());
  decision begun;
  begun.what = decided::turn;
  begun.turn = operation_id::fresh();
  room.all.decided("k", begun);
  CHECK(room.at.stopped == strings{"its message was edited by mia"});
  CHECK(room.new_texts == strings{newest.text + " > 1"});
  room.all.edited("k", changing_room::message("old"), std::to_string(a_million - 2), false); // is delivered again
  begun.turn = operation_id::fresh();
  room.at.now = status::running;
  room.all.decided("k/" + std::to_string(a_million - 1), begun);
  CHECK(room.new_texts.size() == 1);
}

TEST_CASE("a deletion that waits is not overtaken by edits", "[chat]") {
  changing_room room({});
  counted_messages texts;
  room.all.message_posted("k", texts.next());
  room.all.edited("k", texts.next(), "1", false);
  room.all.deleted("k", {}, "1");
  room.all.edited("k", texts.next(), "2", false);
  decision begun;
  begun.what = decided::turn;
  begun.turn = operation_id::fresh();
  room.all.decided("k", begun);
  CHECK(room.at.stopped == strings{"its message was deleted by mia"});
  CHECK(room.new_texts.empty());
}

TEST_CASE("a million changes of messages that are looked up hold little memory", "[chat]") {
  changing_room room({});
  counted_messages texts;
  room.at.late = true;
  for (int i = 0; i < a_million; ++i) {
    const auto key = std::to_string(i % 500'000);
    room.all.edited(key, texts.next(), std::to_string(i), false);
    room.all.deleted(key, {*scope_path::parse("slack/T/C")}, "1");
  }
  CHECK(room.at.looked_up.size() == 1'024);
  CHECK(texts.held() <= 1'024);
  CHECK(texts.held() >= 1'000);
}

TEST_CASE("large edits that wait have a limit in bytes", "[chat]") {
  changing_room room({});
  counted_messages texts;
  room.at.late = true;
  constexpr std::size_t large = 256 * 1024;
  for (int i = 0; i < 1'000; ++i) room.all.edited(std::to_string(i), texts.next(large), "1", false);
  CHECK(texts.held() * large <= 16u << 20);
  CHECK(texts.held() * large >= 15u << 20);
  const auto all = texts.held();
  room.at.late_answer(std::optional<known_message>()); // the last that had room: it is let go
  CHECK(texts.held() == all - 1);
}

TEST_CASE("a million changes that a link carries hold little memory", "[chat]") {
  quick_host at;
  counted_messages texts;
  link_changes link(
      at, {}, [] { return [](std::function<void()> job) { job(); }; }, [](const operation_id&) {},
      [](const std::string&) {});
  at.late = true;
  for (int i = 0; i < a_million / 4; ++i) {
    const auto key = std::to_string(i);
    link.handed_over({0, texts.next(), key}); // and is never decided
    std::vector<message_change> changes;
    changes.push_back({key, texts.next(), "1", false});
    changes.push_back({key, texts.next(), "2", false});
    changes.push_back({key, texts.next(), "3", true}); // a word to stop, which goes out at once
    changes.push_back({std::to_string(a_million + i), texts.next(), "1", false});
    link.perform(std::move(changes));
  }
  CHECK(at.messages == a_million / 4);
  CHECK(texts.held() <= 4'096 + 1'024);
}
