// Messages sent while quelld was away: the report about them, and the turns that a stop prevents.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "integrations/chat/missed_messages.hpp"
#include "integrations/chat/slack/held_messages.hpp"
#include "integrations/chat/slack/history.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using nlohmann::json;

namespace {

const auto channel = *scope_path::parse("slack/T/C"), thread = *scope_path::parse("slack/T/C/5"),
           other = *scope_path::parse("slack/T/C/6");

slack::history_answer read(const json& body, const std::string& of_thread = "") {
  web_response r;
  r.what = web_end::answered;
  r.status = 200;
  r.body = body.dump();
  return slack::read_history(r, {"T1", "C1", of_thread, "1.0"}, "UBOT");
}

slack::history_answer failed(long status, const std::string& body) {
  web_response r;
  r.what = web_end::answered;
  r.status = status;
  r.body = body;
  r.headers["retry-after"] = "30";
  return slack::read_history(r, {"T1", "C1", "", "1.0"}, "UBOT");
}

} // namespace

TEST_CASE("missed messages come in the order in which they were said, each once", "[missed]") {
  missed_messages<std::string> all;
  all.add(thread, "30", "c");
  all.add(channel, "9", "a");
  all.add(other, "10", "b");
  all.add(channel, "9", "again");
  CHECK(all.change("30", "edited"));
  CHECK_FALSE(all.change("31", "x"));
  CHECK(all.forget("10"));
  CHECK(all.take() == std::vector<std::string>{"a", "edited"});
  CHECK(all.take().empty());
}

TEST_CASE("what was said before a stop, where it reaches, is not begun any more", "[missed]") {
  missed_messages<std::string> all;
  all.add(thread, "1", "thread, before");
  all.add(other, "2", "other, before");
  all.stop(thread, "3");
  all.add(thread, "4", "thread, behind");
  all.add(thread, "0", "thread, before, found later");
  all.add(thread, "1", "thread, before, found again");
  CHECK(all.stops().at(0).left_out.size() == 2);
  all.stop(channel, "5");
  all.add(other, "6", "other, behind");
  CHECK(all.stops().at(1).left_out.size() == 2);
  CHECK(all.take() == std::vector<std::string>{"other, behind"});
}

TEST_CASE("a message is held in its present form, and what a stop takes away is told", "[missed]") {
  missed_messages<std::string> all;
  CHECK(all.add(thread, "1", "a"));
  CHECK(all.add(other, "2", "b"));
  CHECK(all.change("1", "edited"));
  CHECK(all.add(thread, "1", "a")); // its delivery comes again
  REQUIRE(all.find("1"));
  CHECK(*all.find("1") == "edited");
  CHECK_FALSE(all.find("3"));
  CHECK(all.stop(thread, "5") == std::set<std::string>{"1"});
  CHECK_FALSE(all.add(thread, "4", "before the stop"));
  CHECK(all.stop(channel, "6") == std::set<std::string>{"2"});
  CHECK(all.stop(channel, "7").empty());
}

TEST_CASE("a stop that is heard of again is the same one, also after a restart", "[missed]") {
  missed_messages<std::string> all;
  all.recall_stop(thread, "5", 2);
  CHECK_FALSE(all.add(thread, "3", "before the stop"));
  CHECK(all.add(other, "4", "another thread"));
  CHECK(all.stop(thread, "5").empty());
  CHECK(all.stop(channel, "5") == std::set<std::string>{"4"}); // another stop: it reaches further
  REQUIRE(all.stops().size() == 2);
  CHECK(all.stops().at(0).all_left_out() == 3);
  CHECK(all.stops().at(1).all_left_out() == 1);
}

TEST_CASE("what Slack's connector holds is the same in its next life", "[missed]") {
  slack::message m;
  m.team = "T1";
  m.channel = "C1";
  m.ts = "17.1";
  m.thread = "15.0";
  m.user = "U1";
  m.text = "two \xff words";
  m.attached = "a file";
  m.stamp = "18.2";
  m.files = {{"a.txt", "text/plain", 7, "https://files.test/a"}, {"b", "", std::nullopt, "https://files.test/b"}};
  m.is_direct = m.is_addressed = true;
  slack::held_messages before;
  before.put("T1/C1/17.1", m);
  before.put("T1/C1/16.0", m);
  before.put("T1/C1/15.5", m);
  before.leave_out("T1/C1/16.0");
  before.decided("T1/C1/15.5");
  const auto changes = before.changes();
  before.leave_out("T1/C1/16.0"); // a second stop
  CHECK(before.changes() == changes);

  const auto text = before.to_keep().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  slack::held_messages after;
  after.recall(nlohmann::json::parse(text));
  REQUIRE(after.all().size() == 1);
  const auto& same = after.all().at("T1/C1/17.1");
  CHECK(same.team == "T1");
  CHECK(same.channel == "C1");
  CHECK(same.ts == "17.1");
  CHECK(same.thread == "15.0");
  CHECK(same.user == "U1");
  CHECK(same.text == "two \xef\xbf\xbd words");
  CHECK(same.attached == "a file");
  CHECK(same.stamp == "18.2");
  CHECK(same.files == m.files);
  CHECK(same.is_direct);
  CHECK(same.is_addressed);
  CHECK(same.what == slack::message::news::posted);
  CHECK(after.left_out().contains("T1/C1/16.0"));
  CHECK_FALSE(after.left_out().contains("T1/C1/15.5"));
}

TEST_CASE("what Slack's connector holds is bounded, and no stored text breaks it", "[missed]") {
  slack::held_messages all;
  slack::message m;
  m.ts = "1.0";
  m.text = std::string(60 << 10, 'x');
  int held = 0;
  for (; held < 100 && all.has_room_for(std::to_string(held), m); ++held) all.put(std::to_string(held), m);
  CHECK(held == 4);
  CHECK(all.has_room_for("0", m)); // in its place
  all.decided("0");
  CHECK(all.has_room_for("another", m));
  for (const auto* text : {"7", "[]", R"({"waiting":[{"ts":"1"}],"left_out":{"a":1}})",
                           R"({"waiting":{"k":7,"l":{"ts":"","text":"x"},"m":{"ts":1}},"left_out":[1,null]})"}) {
    slack::held_messages read;
    read.recall(nlohmann::json::parse(text));
    CHECK(read.all().empty());
    CHECK(read.left_out().in_order().empty());
  }
}

TEST_CASE("a page of Slack's history holds what people said there, and where there are threads", "[missed]") {
  const auto a =
      read({{"ok", true},
            {"messages",
             {{{"type", "message"}, {"user", "U1"}, {"text", "<@UBOT> two"}, {"ts", "3.0"}, {"thread_ts", "3.0"}},
              {{"type", "message"}, {"user", "UBOT"}, {"text", "mine"}, {"ts", "2.5"}},
              {{"type", "message"}, {"bot_id", "B"}, {"user", "U9"}, {"text", "a bot's"}, {"ts", "2.4"}},
              {{"subtype", "channel_join"}, {"user", "U1"}, {"text", "joined"}, {"ts", "2.3"}},
              {{"subtype", "thread_broadcast"}, {"user", "U1"}, {"text", "x"}, {"ts", "2.2"}, {"thread_ts", "1.5"}},
              {{"type", "message"}, {"user", "U2"}, {"text", "stop"}, {"ts", "2.0"}},
              17}},
            {"response_metadata", {{"next_cursor", "more"}}}});
  CHECK(a.what == slack::history_answer::end::good);
  REQUIRE(a.messages.size() == 2);
  CHECK(a.messages[0].text == "two");
  CHECK(a.messages[0].is_addressed);
  CHECK(a.messages[0].thread.empty());
  CHECK(a.messages[0].team == "T1");
  CHECK(a.messages[1].text == "stop");
  CHECK(a.below == std::vector<std::string>{"3.0"});
  CHECK(a.cursor == "more");
  const auto below = read({{"ok", true},
                           {"messages",
                            {{{"user", "U1"}, {"text", "first"}, {"ts", "3.0"}, {"thread_ts", "3.0"}},
                             {{"user", "U1"}, {"text", "answer"}, {"ts", "4.0"}, {"thread_ts", "3.0"}}}}},
                          "3.0");
  REQUIRE(below.messages.size() == 1);
  CHECK(below.messages[0].thread == "3.0");
  CHECK(below.cursor.empty());
}

TEST_CASE("Slack's refusals of its history: later, never, or gone", "[missed]") {
  using end = slack::history_answer::end;
  CHECK(failed(429, "").what == end::later);
  CHECK(failed(429, "").wait == milliseconds{30'000});
  CHECK(failed(200, R"({"ok":false,"error":"ratelimited"})").what == end::later);
  CHECK(failed(503, "").what == end::later);
  CHECK(failed(200, R"({"ok":false,"error":"missing_scope"})").what == end::refused);
  CHECK(failed(200, R"({"ok":false,"error":"missing_scope"})").error == "missing_scope");
  CHECK(failed(200, R"({"ok":false,"error":"channel_not_found"})").what == end::gone);
  CHECK(failed(200, "nonsense").what == end::refused);
  CHECK(failed(404, "").error == "status 404");
  slack_settings s;
  s.bot_token = "xoxb-1";
  const auto r = slack::request_of(s, {"T1", "C1", "3.0", "2.0", "dXNlcjp="});
  CHECK(r.url == "https://slack.com/api/conversations.replies");
  CHECK(r.body == "channel=C1&oldest=2.0&limit=100&inclusive=false&ts=3.0&cursor=dXNlcjp%3D");
  CHECK(r.headers.back() == "Content-Type: application/x-www-form-urlencoded");
}

TEST_CASE("above the limit the channel in which nothing was said for longest is forgotten", "[missed]") {
  handled_marks marks(2);
  marks.comes("undecided", "1");
  marks.comes("quiet", "2");
  marks.done("quiet", "2");
  marks.comes("new", "3");
  marks.done("new", "3");
  marks.done("undecided", "1");
  CHECK(marks.all() == std::map<std::string, std::string>{{"undecided", "1"}, {"new", "3"}});
  CHECK(marks.contains("new"));
  CHECK_FALSE(marks.contains("quiet"));
  marks.comes("undecided", "4");
  marks.comes("new", "5");
  marks.done("undecided", "4"); // it is quiet again, whatever was said last
  marks.comes("fourth", "6");
  CHECK(marks.all() == std::map<std::string, std::string>{{"new", "3"}});
  CHECK_FALSE(marks.contains("fourth")); // nothing there is processed
  marks.forget("new");
  marks.forget("unknown");
  marks.comes("fifth", "7");
  marks.done("fifth", "7");
  marks.done("fourth", "6");
  CHECK(marks.all() == std::map<std::string, std::string>{{"fifth", "7"}, {"fourth", "6"}});
}
