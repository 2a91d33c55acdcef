// Turns as text: columns, wrapped lines, the story that events tell, conversations, and the input history.
#include <catch2/catch.hpp>
#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/columns.hpp"
#include "cli/exit_code.hpp"
#include "cli/input_history.hpp"
#include "cli/instant.hpp"
#include "cli/live_screen.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/text_flow.hpp"
#include "cli/turn_story.hpp"
#include "cli/turn_stream.hpp"
#include "cli/turn_view.hpp"

using namespace quell;
using namespace quell::cli;
using nlohmann::json;

namespace {

const std::string turn = "01a1f869-3df9-7303-8207-000000000001", agent = "01a1f869-3df9-7303-8207-000000000002";

json event(const std::string& type, json data, const std::string& operation = turn) {
  return {{"type", type}, {"operation", operation}, {"at", "2026-11-20T09:51:07.123Z"}, {"data", std::move(data)}};
}

json created(const std::string& kind, const std::string& id, const std::string& parent) {
  return event("operation_created", {{"kind", kind}, {"id", id}, {"parent", parent}}, id);
}

/// A story that records its output.
struct recorded_story {
  std::string text;
  std::vector<std::string> lines;
  turn_story story{
      {.started = [this] { lines.emplace_back("started"); },
       .next_answer = [this] { lines.emplace_back("answer"); },
       .text = [this](const std::string& t) { text += t; },
       .tool_started = [this](const tool_in_flight& t) { lines.push_back("+" + std::string(t.depth, '.') + t.what); },
       .tool_printed =
           [this](const tool_in_flight& t, const std::vector<std::string>& printed) {
             for (const auto& line : printed) lines.push_back("|" + t.what + " " + line);
           },
       .tool_still_runs = [this](const tool_in_flight& t, quell::milliseconds) { lines.push_back("…" + t.what); },
       .tool_ended = [this](const tool_ending& t) { lines.push_back("-" + t.what + " " + t.outcome); },
       .on_approval = [this](const open_approval& a) { lines.push_back("?" + a.what + " " + a.rule); },
       .answered = [this](const open_approval& a, const std::string& d,
                          const std::string& by) { lines.push_back("!" + a.what + " " + d + " " + by); },
       .noted = [this](const std::string& words) { lines.push_back("~" + words); },
       .aborted = [this](const std::string& r) { lines.push_back("abort " + r); }}};
  void take(const json& e) { story.take(e, turn); }
};

void use_utf8() { REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr); }

} // namespace

TEST_CASE("wide characters take two columns, colours none, and nothing is cut in half") {
  use_utf8();
  CHECK(columns_of("abc") == 3);
  CHECK(columns_of("漢字") == 4);
  CHECK(columns_of("\x1b[1mab\x1b[0m") == 2);
  CHECK(columns_of("e\xcc\x81") == 1); // a combining accent
  CHECK(cut_columns("漢字漢字", 6, character_set::utf8) == "漢字…");
  CHECK(cut_columns("漢字漢字", 8, character_set::utf8) == "漢字漢字");
  CHECK(columns_of(cut_columns("\x1b[31m漢字漢字\x1b[0m", 5, character_set::utf8)) <= 5);
  for (const char* broken : {"\xff\xff", "\xe6\xbc", "\xc3", "a\xf0\x9f"}) CHECK(columns_of(broken) >= 1);
}

TEST_CASE("what others wrote cannot move the cursor or clear the screen") {
  CHECK(safe_text("a\x1b[2J\x07\n\tb\r\n") == "a?[2J?\n\tb\n");
  CHECK(safe_text("\xc2\x9b"
                  "2J") == "??2J");
  CHECK(one_line("  a\n\n b\tc \x1b ") == "a b c ?");
}

TEST_CASE("streamed text is broken at words, each piece once, however it comes") {
  use_utf8();
  const std::string text = "one two three four five\nsix 漢字漢字 sevenseveneightnine\n\nten";
  for (std::size_t columns : {5U, 8U, 11U, 80U})
    for (std::size_t step = 1; step < 9; ++step) {
      text_flow flow;
      flow.set_columns(columns);
      std::string shown;
      for (std::size_t i = 0; i < text.size();) {
        auto end = std::min(i + step, text.size());
        while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
        shown += flow.add(std::string_view(text).substr(i, end - i));
        CHECK(columns_of(flow.growing()) < columns);
        i = end;
      }
      shown += flow.end_line();
      CHECK(flow.growing().empty());
      CHECK(flow.end_line().empty());
      for (std::size_t at = 0; at < shown.size();) {
        const auto end = shown.find('\n', at);
        REQUIRE(end != std::string::npos);
        CHECK(columns_of(std::string_view(shown).substr(at, end - at)) < columns);
        at = end + 1;
      }
      const auto letters = [](std::string t) {
        std::erase_if(t, [](char c) { return c == '\n' || c == ' '; });
        return t;
      };
      CHECK(letters(shown) == letters(text));
    }
  text_flow flow;
  flow.set_columns(12);
  CHECK(flow.add("hello wide world") == "hello wide\n");
  CHECK(flow.growing() == "world");
}

TEST_CASE("the screen takes away exactly the rows that it drew") {
  std::string bytes;
  std::size_t cursor_row = 0;
  live_screen screen([&](std::string_view b) { bytes += b; },
                     {.rows_above_cursor = [&] { return cursor_row; }, .draw = [&] { bytes += "> "; }},
                     character_set::ascii);
  screen.set_size(20, 8);
  screen.draw();
  CHECK(bytes == "> ");
  bytes.clear();
  screen.add_text("half a li");
  CHECK(bytes == "\r\x1b[Jhalf a li\n> ");
  bytes.clear();
  screen.set_rows({"  tool 1", "  tool 2 with a very long input"});
  CHECK(bytes == "\x1b[1A\r\x1b[Jhalf a li\n  tool 1\n  tool 2 with a ve~\n> ");
  bytes.clear();
  screen.set_rows({"  tool 1", "  tool 2 with a very long input"});
  CHECK(bytes.empty());
  cursor_row = 2;
  screen.add_line("note");
  CHECK(bytes == "\x1b[5A\r\x1b[Jhalf a li\nnote\n  tool 1\n  tool 2 with a ve~\n> ");
  bytes.clear();
  cursor_row = 0;
  screen.set_rows(std::vector<std::string>(50, "x"));
  CHECK(bytes == "\x1b[2A\r\x1b[Jx\nx\nx\n  and 47 more\n> ");
  screen.clear();
  bytes.clear();
  screen.clear();
  CHECK(bytes.empty());
}

TEST_CASE("text that comes twice is told once, and what no event told comes with the end") {
  recorded_story t;
  t.take(event("text_delta", {{"offset", 0}, {"text", "grü"}}));
  t.take(event("text_delta", {{"offset", 0}, {"text", "grü"}}));
  t.take(event("text_delta", {{"offset", 2}, {"text", "üße"}}));
  t.take(event("text_delta", {{"offset", 0}, {"text", "of a sub-agent"}}, agent));
  CHECK(t.text == "grüße");
  t.story.end({{"turn", {{"text", "grüße aus 漢字"}}}});
  CHECK(t.text == "grüße aus 漢字");
  CHECK(t.story.is_over());
}

TEST_CASE("tools are told once, below the agents that called them") {
  recorded_story t;
  t.take(event("operation_started", json::object()));
  t.take(event("turn_start", json::object()));
  t.take(created("model_call", "m1", turn));
  t.take(created("tool_call", "call", turn));
  t.take(created("sub_agent", agent, "call"));
  t.take(created("model_call", "m2", agent));
  const json start{{"call", "c1"}, {"name", "exec"}, {"input", {{"command", "echo\nhi"}}}, {"operation", "o"}};
  t.take(event("tool_start", start));
  t.take(event("tool_start", start));
  t.take(event("tool_start", start, agent));
  CHECK(t.story.tools().size() == 2);
  const json result{{"call", "c1"}, {"name", "exec"}, {"ok", false}, {"cancelled", true}, {"duration_ms", 12}};
  t.take(event("tool_result", result, agent));
  t.take(event("tool_result", result));
  t.take(event("turn_abort", {{"reason", "user"}}));
  t.take(event("turn_abort", {{"reason", "user"}}));
  CHECK(t.lines == std::vector<std::string>{"started", "answer", "+exec echo hi", "+.exec echo hi",
                                            "-exec echo hi cancelled", "-exec echo hi cancelled", "abort user"});
  CHECK(t.story.tools().empty());
  CHECK(t.story.interrupted() == std::vector<std::string>{"exec"});
}

TEST_CASE("the stop of a turn names the commands that it passed by") {
  recorded_story t;
  const std::string left = "01a21d9d-bd73-762b-8297-2bb065d8c7fa";
  t.take(event("turn_abort", {{"reason", "user"}, {"still_running", json::array({left})}}));
  CHECK(t.lines == std::vector<std::string>{"abort user, in the background still runs: " + short_id(left)});
}

TEST_CASE("a question to a human is open until it is answered or stopped") {
  recorded_story t;
  const json question{
      {"operation", "call"}, {"name", "exec"}, {"input", {{"command", "rm x"}}}, {"rule", "exec: rm *"}};
  t.take(event("approval_required", question, "call"));
  t.take(event("approval_required", question, "call"));
  REQUIRE(t.story.approvals().size() == 1);
  t.take(event("approval_resolved",
               {{"operation", "call"}, {"decision", "denied"}, {"by", {{"id", "a"}, {"name", "Ann"}}}}, "call"));
  CHECK(t.story.approvals().empty());
  t.take(event("approval_required", question, "call"));
  t.take(event("operation_cancelling", json::object(), "call"));
  CHECK(t.story.approvals().empty());
  CHECK(t.lines == std::vector<std::string>{"?exec rm x exec: rm *", "!exec rm x denied Ann", "?exec rm x exec: rm *"});
}

TEST_CASE("what a begun call asks is another question than whether it may begin") {
  recorded_story t;
  const json question_data{{"operation", "call"},
                           {"name", "deploy"},
                           {"input", json::object()},
                           {"rule", "asked by MCP server odd"},
                           {"question",
                            {{"id", "q-12345678"},
                             {"server", "odd"},
                             {"message", "Where to?"},
                             {"form", {{"properties", {{"where", {{"type", "string"}, {"default", "here"}}}}}}}}}};
  t.take(event("approval_required", question_data, "call"));
  REQUIRE(t.story.approvals().size() == 1);
  const auto& open = t.story.approvals().front();
  CHECK(open.key() == "q-12345678");
  CHECK(open.lines == std::vector<std::string>{"odd asks: Where to?", "  where  string  (default \"here\")"});
  CHECK(open.commands.front() == "quell approve call --question 12345678 --set NAME=VALUE");
  t.take(event("approval_resolved", {{"operation", "call"}, {"decision", "approved"}}, "call"));
  CHECK(t.story.approvals().size() == 1);
  t.take(event("approval_resolved", {{"operation", "call"}, {"decision", "approved"}, {"question", "q-12345678"}},
               "call"));
  CHECK(t.story.approvals().empty());
}

TEST_CASE("odd events are survived") {
  recorded_story t;
  for (const char* type : {"text_delta", "tool_start", "tool_result", "approval_required", "approval_resolved",
                           "operation_created", "turn_abort", "turn_complete", "made_up"})
    for (const json& data : {json(), json("x"), json::array({1}), json{{"offset", -5}, {"text", 7}, {"call", {}}}})
      t.take(event(type, data));
  t.take(json());
  t.take(created("sub_agent", "loop", "loop"));
  t.take(event("tool_start", {{"call", "x"}}, "loop"));
  t.story.end(json());
  SUCCEED();
}

TEST_CASE("calls and their endings in a few words") {
  CHECK(call_text("exec", {{"command", "make\n  -j4"}}) == "exec make -j4");
  CHECK(call_text("exec", {{"argv", {"a b", "c"}}}) == "exec 'a b' c");
  CHECK(call_text("session_status", json::object()) == "session_status");
  CHECK(call_text("mcp__x__y", {{"n", 1}}) == "mcp__x__y {\"n\":1}");
  CHECK(call_text("bad", "no json {") == "bad no json {");
  CHECK(columns_of(input_text({{"command", std::string(5000, 'x')}})) == 160);
  CHECK(outcome_text({{"ok", true}, {"result", {{"ok", true}, {"result", {{"exit_code", 0}}}}}}) == "ok");
  CHECK(outcome_text({{"ok", true}, {"result", {{"ok", true}, {"result", {{"exit_code", 3}}}}}}) == "exit 3");
  CHECK(outcome_text({{"ok", false}, {"cancelled", true}}) == "cancelled");
  CHECK(outcome_text({{"ok", false}, {"result", {{"error", {{"message", "no\nfile"}}}}}}) == "failed: no file");
  CHECK(event_words(event("tool_timeout", {{"name", "exec"}, {"timeout_ms", 2000}})) == "  exec  after 2.0s");
  CHECK(event_words(event("turn_abort", {{"reason", "user"}})) == "  user");
  CHECK(event_words(event("worker_joined", {{"name", "w1"}})).empty());
  CHECK(operation_name(
            {{"kind", "tool_call"}, {"name", "exec"}, {"title", "exec"}, {"tool", {{"input", {{"command", "ls"}}}}}}) ==
        "exec ls");
  CHECK(operation_name({{"kind", "turn"}, {"name", "main"}, {"title", "hello"}}) == "main: hello");
  CHECK(operation_name({{"kind", "task"}, {"name", "sh"}, {"title", "hello"}}) == "hello");
}

TEST_CASE("waits, other tries and other models are told in words, and so is an answer that was cut") {
  CHECK(model_words(event("model_queued", {{"model", "big"}, {"ahead", 2}})) ==
        "waiting for model big, behind 2 others");
  CHECK(model_words(event("model_asked", {{"model", "big"}, {"waited_ms", 1500}})) == "model big is asked, after 1.5s");
  CHECK(model_words(event("model_retry", {{"model", "big"}, {"wait_ms", 500}, {"reason", "slow\ndown"}})) ==
        "model big is asked again in 500ms: slow down");
  CHECK(model_words(event("model_fallback", {{"from", "big"}, {"to", "small"}, {"reason", "full"}})) ==
        "model small is asked in place of big: full");
  CHECK(model_words(event("text_delta", {{"text", "x"}})).empty());
  CHECK(stop_reason_words({{"stop_reason", "length"}}).find("max_tokens") != std::string::npos);
  CHECK_FALSE(stop_reason_words({{"stop_reason", "content_filter"}}).empty());
  CHECK_FALSE(stop_reason_words({{"stop_reason", "refusal"}}).empty());
  CHECK(stop_reason_words({{"stop_reason", "end"}}).empty());
  CHECK(stop_reason_words({{"stop_reason", nullptr}}).empty());
  CHECK(usage_text({{"input_tokens", 10}, {"output_tokens", 2}, {"cost", 0.00125}, {"estimated", true}}) ==
        "10 tokens in, 2 out, cost 0.00125 (estimated)");
}

TEST_CASE("a stop is summed up with its proof") {
  json cancel{{"status", "settled"},
              {"report",
               {{"operations", 3},
                {"receipts", {{"killed", 1}, {"cooperative", 2}, {"declared", 0}}},
                {"proven", true},
                {"settled_ms", 2010.5}}}};
  CHECK(stop_summary(cancel) == "3 operations: 2 cooperative, 1 killed; all proven (2.0s)");
  CHECK(stop_word(cancel) == "stopped");
  cancel["report"]["proven"] = false;
  CHECK(stop_summary(cancel) == "3 operations: 2 cooperative, 1 killed; not all proven (2.0s)");
  CHECK(stop_word(cancel) == "ended");
  cancel["status"] = "signalled";
  cancel["report"]["unproven_total"] = 1;
  CHECK(stop_summary(cancel) == "3 operations: 2 cooperative, 1 killed; 1 not proven dead yet");
  CHECK(stop_word(cancel) == "stopping");
  CHECK(stop_word(nullptr) == "cancelled"); // another client's, of whose proof nothing is known here
  cancel["status"] = "settled";
  cancel["report"] = {{"operations", 0}, {"proven", true}}; // nothing was left to prove
  for (const char* outcome : {"stopping", "joined"}) {
    cancel["outcome"] = outcome;
    CHECK(has_stopped_its_target(cancel));
  }
  cancel["outcome"] = "already_finished"; // it was another client's that ended the work
  CHECK_FALSE(has_stopped_its_target(cancel));
  CHECK(stop_word(cancel) == "cancelled");
  CHECK_FALSE(has_stopped_its_target(nullptr));
}

TEST_CASE("what waits for a human or for its turn says what to do about it") {
  const view v{wall_now(), time_zone::utc, false, character_set::ascii};
  const json paused{{"id", turn},
                    {"kind", "tool_call"},
                    {"status", "paused"},
                    {"tool", {{"approval", "exec: rm *"}}},
                    {"waiting_for", {{"what", "approval"}, {"since_at", "2026-11-20T09:51:07.123Z"}, {"detail", "x"}}}};
  const auto lines = operation_reasons(paused, v);
  REQUIRE(lines.size() == 4);
  CHECK(lines[1] == "a human must say whether it may run, by rule exec: rm *:");
  CHECK(lines[2] == "  quell approve 00000001");
  const json queued{{"id", turn},
                    {"kind", "turn"},
                    {"status", "pending"},
                    {"scope", "a/b"},
                    {"waiting_for", {{"what", "turn"}, {"since_at", "2026-11-20T09:51:07.123Z"}, {"detail", "x"}}}};
  CHECK(operation_reasons(queued, v).at(1).find("quell ps --scope a/b --kind turn") != std::string::npos);
}

TEST_CASE("a conversation is shown with its calls, their endings, and what was cut off") {
  const json messages = json::parse(R"([
    {"role":"user","at":"2026-11-20T09:51:07.123Z","author":{"id":"mia","name":"Mia"},"text":"do\nit"},
    {"role":"assistant","text":"Yes.","tool_calls":[{"call":"a","name":"exec","input":{"command":"ls"}},{"call":"b","name":"read","input":{"path":"x"}}]},
    {"role":"tool","results":[{"call":"a","name":"exec","ok":true,"result":{}},{"call":"b","name":"read","ok":false,"cancelled":true}]},
    {"role":"assistant","text":"Half","interrupted":true},
    {"role":"user","at":null,"author":null,"text":"never","discarded":true}])");
  const view v{*parse_instant("2026-11-20T10:00:00Z"), time_zone::utc, false, character_set::ascii};
  CHECK(conversation_lines(messages, v, 80) == std::vector<std::string>{"09:51:07Z Mia: do it", "Yes.", "  exec ls  ok",
                                                                        "  read x  cancelled", "Half (interrupted)",
                                                                        "-: never (not part of the conversation)"});
  CHECK(conversation_lines(json(), v, 80).empty());
}

TEST_CASE("a turn that failed by itself ends with 1, one that quell lost with 125") {
  const auto code = [](const char* status, const char* error) {
    return static_cast<int>(exit_of_operation({{"kind", "turn"}, {"status", status}, {"error", {{"code", error}}}}));
  };
  CHECK(code("completed", "") == 0);
  CHECK(code("failed", "error") == 1);
  CHECK(code("failed", "timeout") == 124);
  CHECK(code("failed", "interrupted") == 125);
  CHECK(code("cancelled", "") == 130);
}

TEST_CASE("the default conversation is the person's own, whatever their name") {
  const auto scope_of = [](const std::string& user) {
    return conversation_scope({}, {}, [user](const char* name) -> std::optional<std::string> {
      if (std::string(name) == "USER" && !user.empty()) return user;
      return std::nullopt;
    });
  };
  CHECK(scope_of("mia") == "chat/mia");
  CHECK(scope_of("") == "chat/cli");
  CHECK(scope_of("a b/ü") == "chat/a~20b~2F~C3~BC");
  CHECK(scope_of("..") == "chat/cli");
}

TEST_CASE("what was typed is kept for its owner alone, and a link is not followed") {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "quell-history-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const fs::path directory = name, file = directory / "state" / "chat_history";
  {
    input_history history(file.string());
    CHECK(history.lines().empty());
    history.add("one");
    history.add("one");
    history.add("two");
    history.add("");
    history.add("with\nbreak");
  }
  CHECK((fs::status(file).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write));
  CHECK(input_history(file.string()).lines() == std::vector<std::string>{"one", "two"});
  {
    std::ofstream more(file, std::ios::app);
    for (int i = 0; i < 2500; ++i) more << i << "\n";
  }
  CHECK(input_history(file.string()).lines().size() == 1000);
  CHECK(input_history(file.string()).lines().back() == "2499");
  const fs::path link = directory / "link";
  fs::create_symlink(file, link);
  input_history linked(link.string());
  CHECK(linked.lines().empty());
  linked.add("through the link");
  CHECK(input_history(file.string()).lines().back() == "2499");
  fs::remove_all(directory);
}
