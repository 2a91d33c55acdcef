// A process that dies at any event: the next one goes on from what was kept with the stored events behind it, and the
// service ends up showing what it would have shown without the crash.
#include "integrations/chat/missed_events.hpp"
#include "tests/integrations/chat/chat_outbox_world.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using quell::integrations::chat::testing::played_service;

namespace {

using strings = std::vector<std::string>;

/// Decides messages, and cancels that come to nothing else.
struct story {
  std::vector<event> events;
  operation_id turn = operation_id::fresh(), call = operation_id::fresh();
  message_id stop = message_id::fresh(), request = message_id::fresh();
  cancel_id cancel = cancel_id::fresh();

  void tell(event_type type, const std::string& data, bool of_turn = true) {
    event e;
    e.id = 10 * (events.size() + 1);
    e.type = type;
    e.scope = played_service::place();
    if (of_turn) e.operation = e.root = turn;
    e.data = data;
    events.push_back(e);
  }
  void ask() {
    tell(event_type::message_decided, R"({"message":")" + request.text() + R"(","id":"m1","decision":"turn"})", false);
    tell(event_type::turn_start, R"({"message":")" + request.text() + R"("})");
  }
  void say(std::uint64_t offset, const std::string& text) {
    tell(event_type::text_delta, R"({"offset":)" + std::to_string(offset) + R"(,"text":")" + text + R"("})");
  }
  void order_stop(bool words_follow) {
    tell(event_type::message_decided,
         R"({"message":")" + stop.text() + R"(","id":"m2","decision":"cancel","cancel":{"id":")" + cancel.text() +
             R"(","words_follow":)" + (words_follow ? "true" : "false") + "}}",
         false);
    tell(event_type::operation_cancelling, R"({"cancel":")" + cancel.text() + R"("})");
  }
  void settle() {
    tell(event_type::operation_cancelled, R"({"cancel":")" + cancel.text() + R"("})");
    tell(event_type::cancel_settled,
         R"({"cancel":")" + cancel.text() + R"(","proven":true,"not_confirmed":0,"operations":1})", false);
  }
  void acknowledge(const std::string& text) {
    tell(event_type::acknowledgement,
         R"({"message":")" + stop.text() + R"(","cancel":")" + cancel.text() + R"(",)" +
             (text.empty() ? R"("text":null,"reaction":"🛑","state":"stopping")"
                           : R"("text":")" + text + R"(","reaction":null,"state":"stopped")") +
             "}",
         false);
  }
};

story completed() {
  story s;
  s.ask();
  s.say(0, "Let me ");
  s.tell(event_type::tool_start, R"({"name":"exec"})");
  s.tell(event_type::tool_result, R"({"name":"exec"})");
  s.say(7, "see: ");
  s.tell(event_type::approval_required, R"({"operation":")" + s.call.text() + R"(","name":"exec","input":{}})");
  s.tell(event_type::approval_resolved,
         R"({"operation":")" + s.call.text() + R"(","decision":"approved","by":{"id":"m","name":"Mia"}})");
  s.say(12, "all is well.");
  s.tell(event_type::turn_complete, R"({"text":"Let me see: all is well. Bye.","usage":{}})");
  return s;
}

story stopped(bool words_follow) {
  story s;
  s.ask();
  s.say(0, "Some words");
  s.order_stop(words_follow);
  s.say(10, " that are late");
  if (!words_follow) s.acknowledge("");
  s.tell(event_type::turn_abort, R"({"reason":"user"})");
  s.settle();
  if (words_follow) s.acknowledge("🛑 stopped: exec");
  return s;
}

story failed() {
  story s;
  s.ask();
  s.say(0, "Some");
  s.tell(event_type::turn_abort, R"({"reason":"error"})");
  return s;
}

/// The texts that stand there in the end, in their order, and the reactions in theirs. Without edits a stop that is
/// proven soon is not reported as pending first; a question that is answered soon is not asked, and of a reply that is
/// stopped soon nothing is shown. A crash changes what is soon.
strings shown(const played_service& s) {
  strings all;
  for (const auto& id : s.order) {
    const auto& text = s.messages.at(id);
    const bool is_answered = text.starts_with("✋") && (!s.rules.can_edit || text.ends_with("approved by Mia"));
    const bool is_stopped =
        text == "Some words\n⏹ stopped" || text == "Some" || (!s.rules.can_edit && text == "Some words");
    if (!is_answered && !is_stopped && (s.rules.can_edit || text != "🛑 stopping…")) all.push_back(text);
  }
  for (const auto& text : s.posted_texts)
    if (text.starts_with("react")) all.push_back(text);
  return all;
}

/// It also knows its reactions.
struct life_after : quell::integrations::chat::testing::next_life {
  explicit life_after(const played_service& before) : next_life(before) { posted_texts = before.posted_texts; }
};

/// The host's side of one reading.
struct page_host final : host {
  void say(incoming_message, std::function<void(result<decision>)>) override { FAIL("nobody says anything"); }
  void stop(stop_order, std::function<void(result<stop_answer>)>) override { FAIL("nobody stops anything"); }
  void stop_once(signed_stop, std::function<void(result<stop_answer>)>) override { FAIL("nobody stops anything"); }
  void approve(approval_order, std::function<void(result<void>)>) override { FAIL("nobody approves"); }
  void look(std::vector<operation_id> which, std::function<void(std::vector<std::optional<status>>)> done) override {
    done(std::vector<std::optional<status>>(which.size()));
  }
  void find(std::vector<scope_path>, std::string, std::function<void(result<std::optional<known_message>>)>) override {
    FAIL("nobody looks for messages");
  }
  void events_after(std::string service, std::uint64_t after, std::function<void(result<event_page>)> done) override {
    CHECK(service == "slack");
    reads.push_back(after);
    if (is_broken) return done(tl::unexpected(fault{"storage_unavailable", "it is away", ""}));
    if (meanwhile) std::exchange(meanwhile, nullptr)();
    if (std::exchange(is_slow, false)) {
      late = [this, service, after, done] { events_after(service, after, done); };
      return;
    }
    event_page page{{}, {}, oldest, stored.empty() ? 0 : stored.back().id};
    for (const auto& e : stored)
      if (e.id > after && page.events.size() < 2) page.events.push_back(e);
    if (page.events.size() == 2) page.next = page.events.back().id;
    done(std::move(page));
  }
  std::vector<event> stored;
  std::uint64_t oldest = 1;
  bool is_broken = false, is_slow = false;
  std::function<void()> meanwhile, late;
  std::vector<std::uint64_t> reads;
};

struct reading {
  page_host at;
  std::vector<std::uint64_t> applied;
  std::optional<std::pair<std::uint64_t, bool>> end;
  std::size_t looked = 0;
  missed_events missed{{at, "slack", [] { return [](std::function<void()> job) { job(); }; },
                        [this](const event& e) { applied.push_back(e.id); },
                        [this](std::uint64_t newest, bool is_whole) {
                          end = {newest, is_whole};
                        },
                        [this](const operation_id&, std::optional<status>) { ++looked; }, [](const std::string&) {}}};
};

std::vector<event> numbered(std::uint64_t first, std::uint64_t last) {
  std::vector<event> all;
  for (auto id = first; id <= last; ++id)
    all.push_back({id, event_type::tool_start, played_service::place(), {}, {}, "{}"});
  return all;
}

using numbers = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("whichever event is the last one before a crash, the service shows the same in the end", "[restart]") {
  outbox_rules rules;
  rules.has_buttons = true;
  rules.can_edit = GENERATE(true, false);
  rules.can_react = GENERATE(true, false);
  for (const auto& s : {completed(), stopped(true), stopped(false), failed()}) {
    played_service whole(rules);
    for (const auto& e : s.events) {
      whole.box.on_event(e, whole.now);
      whole.run_dry();
    }
    for (std::size_t crash = 0; crash <= s.events.size(); ++crash)
      for (const bool is_sent : {true, false})
        for (const std::size_t again : {std::size_t{0}, std::size_t{1}}) {
          CAPTURE(rules.can_edit, rules.can_react, crash, is_sent, again, s.events.size());
          played_service first(rules);
          for (std::size_t i = 0; i < crash; ++i) {
            first.box.on_event(s.events[i], first.now);
            if (i + 1 < crash || is_sent) first.run_dry();
          }
          // Later crashes: this life has read a few events, and sent what it had to say.
          auto kept = first.box.kept();
          life_after second(first);
          second.box.recover(kept, second.now);
          for (std::size_t i = crash; i < std::min(crash + again, s.events.size()); ++i)
            second.box.on_event(s.events[i], second.now);
          if (again > 0) second.run_dry();
          life_after last(static_cast<const played_service&>(second));
          const auto which = last.box.recover(second.box.kept(), last.now);
          for (const auto& e : s.events) last.box.on_event(e, last.now); // also those that it has: they do nothing
          last.box.caught_up(s.events.back().id, true);
          for (const auto& id : which) last.box.looked(id, std::nullopt, last.now);
          last.run_dry();
          CHECK(shown(last) == shown(whole));
          CHECK(last.keeps_nothing());
        }
  }
}

TEST_CASE("missed events come in pages, once each, before those that came meanwhile", "[restart]") {
  reading r;
  r.at.stored = numbered(1, 7);
  r.at.meanwhile = [&r] {
    for (const auto& e : numbered(6, 9)) r.missed.hear(e); // two of them are stored already
    CHECK(r.applied.empty());
    CHECK_FALSE(r.missed.is_over());
  };
  r.missed.fetch(2, {operation_id::fresh()});
  CHECK(r.applied == numbers{3, 4, 5, 6, 7, 8, 9});
  CHECK(r.at.reads == numbers{2, 4, 6});
  CHECK(r.end == std::pair(std::uint64_t{7}, true));
  CHECK(r.looked == 1);
  r.missed.hear(numbered(9, 9)[0]);
  r.missed.hear(numbered(10, 10)[0]);
  CHECK(r.applied.back() == 10);
  CHECK(r.applied.size() == 8);
}

TEST_CASE("more events than may wait are read from the store", "[restart]") {
  reading r;
  r.at.stored = numbered(1, 2);
  r.at.meanwhile = [&r] {
    r.at.stored = numbered(1, 5003);
    for (const auto& e : numbered(3, 5003)) r.missed.hear(e);
  };
  r.missed.fetch(1, {});
  CHECK(r.applied.size() == 5002);
  CHECK(std::is_sorted(r.applied.begin(), r.applied.end()));
  CHECK(r.end == std::pair(std::uint64_t{5003}, true));
}

TEST_CASE("a store that takes too long is waited for no longer, and its answer comes too late", "[restart]") {
  reading r;
  r.at.stored = numbered(1, 9);
  r.at.is_slow = true;
  r.missed.fetch(5, {operation_id::fresh()});
  r.missed.hear(numbered(10, 10)[0]);
  CHECK(r.applied.empty());
  r.missed.give_up();
  r.missed.give_up();
  REQUIRE(r.at.late);
  r.at.late();
  CHECK(r.missed.is_over());
  CHECK(r.applied == numbers{10});
  CHECK(r.end == std::pair(std::uint64_t{5}, false));
  CHECK(r.looked == 1);
}

TEST_CASE(
    "without a state, with one of another store, behind deleted events or with a broken store, nothing is claimed",
    "[restart]") {
  reading r;
  r.at.stored = numbered(5, 9);
  r.at.oldest = 5;
  SECTION("there is no state") {
    r.missed.fetch(0, {});
    CHECK(r.applied.empty());
    CHECK(r.end == std::pair(std::uint64_t{9}, false));
  }
  SECTION("there is no state, and the first live events came before the answer") {
    r.at.meanwhile = [&r] {
      for (const auto& e : numbered(8, 9)) r.missed.hear(e);
    };
    r.missed.fetch(0, {});
    CHECK(r.applied == numbers{8, 9});
    CHECK(r.end == std::pair(std::uint64_t{7}, false));
  }
  SECTION("the store is older than the state") {
    r.missed.fetch(100, {});
    CHECK(r.applied.empty());
    CHECK(r.end == std::pair(std::uint64_t{9}, false));
  }
  SECTION("the events behind the state were deleted") {
    r.missed.fetch(3, {});
    CHECK(r.applied == numbers{5, 6, 7, 8, 9});
    CHECK(r.end == std::pair(std::uint64_t{9}, false));
  }
  SECTION("the store cannot be read") {
    r.at.is_broken = true;
    r.missed.fetch(6, {});
    CHECK(r.applied.empty());
    CHECK(r.end == std::pair(std::uint64_t{6}, false));
  }
  r.missed.hear(numbered(10, 10)[0]);
  CHECK(r.applied.back() == 10);
}
