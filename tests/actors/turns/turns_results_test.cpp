// Results that quell itself gives to a call, and the limit on all results.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "actors/turns/result_json.hpp"
#include "actors/turns/turn_json.hpp"
#include "protocol/utf8.hpp"

using namespace quell;
using namespace quell::controller::turns;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("a cancelled call and one that never began have exactly these results", "[turns][results]") {
  const json_result_texts texts;
  CHECK(
      json::parse(texts.cancelled()) ==
      json::parse(
          R"({"ok":false,"cancelled":true,"error":{"code":"cancelled_by_user","message":"Tool call cancelled by user."}})"));
  CHECK(
      json::parse(texts.not_started()) ==
      json::parse(
          R"({"ok":false,"cancelled":true,"error":{"code":"cancelled_by_user","message":"Tool call was not started: cancelled by user."}})"));
}

TEST_CASE("a timeout says the tool, the seconds and what to do", "[turns][results]") {
  const json_result_texts texts;
  const auto r = json::parse(texts.timed_out("exec", 1500ms));
  CHECK(r["ok"] == false);
  CHECK_FALSE(r.contains("cancelled"));
  const auto message = r["error"]["message"].get<std::string>();
  CHECK(message.starts_with("[TIMEOUT] "));
  CHECK(message.find("'exec'") != std::string::npos);
  CHECK(message.find("1.5 seconds") != std::string::npos);
  CHECK(message.find("timeout_ms") != std::string::npos);
  CHECK(json::parse(texts.timed_out("x", 60s))["error"]["message"].get<std::string>().find("within 60 seconds") !=
        std::string::npos);
}

TEST_CASE("denied, failed and interrupted calls say why", "[turns][results]") {
  const json_result_texts texts;
  CHECK(json::parse(texts.denied("too risky"))["error"] ==
        json({{"code", "denied"}, {"message", "A person denied this call: too risky"}}));
  CHECK(json::parse(texts.denied(""))["error"]["code"] == "denied");
  const auto late = json::parse(texts.undecided(undecided_reason(3s)))["error"];
  CHECK(late["code"] == "denied");
  CHECK(late["message"].get<std::string>().starts_with("This call did not run: nobody decided within 3000 ms"));
  CHECK(late["message"].get<std::string>().find("person") == std::string::npos);
  // A person may give the same reason.
  CHECK(json::parse(texts.denied(undecided_reason(3s)))["error"]["message"] ==
        "A person denied this call: nobody decided within 3000 ms");
  CHECK(json::parse(texts.failed("x", "bad \xff byte"))["error"]["code"] == "x");
  CHECK(json::parse(texts.interrupted())["error"]["code"] == "interrupted");
  CHECK(json::parse(texts.interrupted())["ok"] == false);
}

TEST_CASE("a result that fits is passed on, and one of 50 MB is cut to JSON that says so", "[turns][results]") {
  CHECK(bounded_result(R"({"ok":true})") == R"({"ok":true})");
  const auto big = R"({"ok":true,"result":")" + std::string(50 << 20, 'x') + "the end\"}";
  const auto cut = bounded_result(big);
  CHECK(cut.size() <= most_result_bytes);
  CHECK(cut.size() > most_result_bytes / 2);
  const auto r = json::parse(cut);
  CHECK(r["truncated"] == true);
  CHECK(r["ok"] == true);
  CHECK(r["result_bytes"] == big.size());
  CHECK(r["result"].get<std::string>().starts_with("{\"ok\":true"));
  CHECK(r["result"].get<std::string>().ends_with("the end\"}"));
  CHECK(json::parse(bounded_result(big, most_result_bytes, false))["ok"] == false);
}

TEST_CASE("an input that nests without end is shown as text", "[turns][results]") {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(json::parse(call_block({"c1", "exec", deep}, true, 1s, {}))["input"] == deep);
  CHECK(json::parse(call_block({"c1", "exec", "[[1]]"}, true, 1s, {}))["input"] == json::parse("[[1]]"));
}

TEST_CASE("whatever comes in, JSON within the limit comes out", "[turns][results]") {
  for (const auto& nasty : {std::string(5000, '\x01'), std::string(5000, '\xff'), std::string(5000, '"'),
                            std::string("no json"), std::string(), std::string("{\"a\":\"\xff\"}")}) {
    const auto out = bounded_result(nasty, 2000);
    CHECK(out.size() <= 2000);
    CHECK(json::accept(out));
    CHECK(is_utf8(out));
  }
  CHECK(json::parse(ok_result("[1]")) == json({{"ok", true}, {"result", {1}}}));
  CHECK(json::parse(ok_result("plain \xff"))["result"] == "plain \xEF\xBF\xBD");
}

TEST_CASE("a text is cut between characters and keeps its head and its tail", "[turns][results]") {
  bool cut = false;
  CHECK(bounded_text("short", 100, cut) == "short");
  CHECK_FALSE(cut);
  std::string umlauts;
  for (int i = 0; i < 1000; ++i) umlauts += "ä";
  for (std::size_t most = 200; most < 208; ++most) {
    cut = false;
    const auto text = bounded_text("begin " + umlauts + " end", most, cut);
    CHECK(cut);
    CHECK(text.size() <= most);
    CHECK(is_utf8(text));
    CHECK(text.find("\xEF\xBF\xBD") == std::string::npos);
    CHECK(text.starts_with("begin ä"));
    CHECK(text.ends_with("ä end"));
    CHECK(text.find("bytes left out") != std::string::npos);
  }
  cut = false;
  CHECK(bounded_text("a\xff\xfe z \xc3", 100, cut) == "a\xEF\xBF\xBD\xEF\xBF\xBD z \xEF\xBF\xBD");
  CHECK_FALSE(cut);
  CHECK(bounded_text(std::string(100, '\xff'), 150, cut).size() <= 150);
}
