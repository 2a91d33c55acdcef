// The client against a real server: streams, retries, deadlines, and errors at every stage.
#include <catch2/catch.hpp>

#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

/// Asks once and collects the events to the end.
event_recorder recorded_call(model_client& client, const model_settings& settings, const std::string& text = "hello") {
  event_recorder recorder;
  const auto call = client.ask(settings, asking(text), recorder.listener());
  recorder.wait_for_end();
  return recorder;
}

moves good_answer() {
  return {chunked_head(), chunk(text_piece("Hel")), chunk(text_piece("lo") + end_piece()), last_chunk()};
}

} // namespace

TEST_CASE("a streamed answer comes as it is sent, with its usage") {
  http_server server([](const http_ask&) -> moves {
    return {chunked_head(), chunk(text_piece("one")), quell::testing::pause(6s), chunk(text_piece("two") + end_piece()),
            last_chunk()};
  });
  auto client = open_client();
  const event_recorder recorder = recorded_call(*client, settings_for(server.url()));
  CHECK(recorder.text() == "onetwo");
  CHECK(recorder.finished().usage == model_usage{7, 3, 0});
  // The first chunk did not wait for the second.
  CHECK(recorder.times()[1] - recorder.times()[0] >= 200ms);
  const auto ask = server.asks().front();
  CHECK(ask.path == "/v1/chat/completions");
  CHECK(ask.headers.at("authorization") == "Bearer sk-very-secret");
  CHECK_THAT(ask.body, Catch::Contains("\"hello\""));
}

TEST_CASE("Anthropic is asked with its own headers") {
  http_server server([](const http_ask&) -> moves {
    return {whole(400,
                  R"({"type":"error","error":{"type":"invalid_request_error","message":"bad sk-very-secret thing"}})")};
  });
  auto client = open_client();
  const auto failed = recorded_call(*client, settings_for(server.url(), provider::anthropic)).failed();
  CHECK(failed.why.code == "model_refused");
  CHECK_THAT(failed.why.detail, Catch::Contains("model \"main\" (m-1 at " + server.url() + "/messages)") &&
                                    Catch::Contains("400: bad *** thing"));
  const auto ask = server.asks().front();
  CHECK(ask.path == "/v1/messages");
  CHECK(ask.headers.at("x-api-key") == "sk-very-secret");
  CHECK(ask.headers.at("anthropic-version") == "2023-06-01");
}

TEST_CASE("a connection is used again after an answer that came whole") {
  http_server server([](const http_ask&) { return good_answer(); });
  auto client = open_client();
  // The end is reported before HTTP's last bytes have arrived: a call that begins at once opens another connection.
  for (std::size_t calls = 1; calls <= 1000 && server.accepted() >= server.asks().size(); ++calls) {
    CHECK(recorded_call(*client, settings_for(server.url())).text() == "Hello");
    server.until("the answer to be sent", [&] { return server.asks().size() == calls; });
  }
  CHECK(server.accepted() < server.asks().size());
}

TEST_CASE("429, 5xx and lost connections are tried again, with growing pauses, before anything was told") {
  http_server server([](const http_ask& ask) -> moves {
    switch (ask.number) {
    case 1:
      return {whole(429, R"({"error":{"message":"slow down","code":"rate_limit_exceeded"}})")};
    case 2:
      return {whole(529, "")};
    case 3:
      return {chunked_head(), quell::testing::pause(20ms), reset_now()};
    case 4:
      return {chunked_head(), chunk("data: {\"error\":{\"message\":\"oops\",\"type\":\"server_error\"}}\n\n"),
              last_chunk()};
    default:
      return good_answer();
    }
  });
  auto client = open_client();
  const event_recorder recorder = recorded_call(*client, settings_for(server.url()));
  CHECK(recorder.finished().why == model_events::stop::end);
  CHECK(recorder.text() == "Hello");
  const auto retries = recorder.all<model_events::retrying>();
  REQUIRE(retries.size() == 4);
  for (std::size_t i = 0; i < retries.size(); ++i) {
    CHECK(retries[i].attempt == i + 2);
    CHECK(retries[i].after == std::chrono::milliseconds(1 << i)); // half of 2, 4, 8, 16 ms, for the random number 0
  }
  CHECK_THAT(retries[0].why, Catch::Contains("slow down"));
}

TEST_CASE("retries end, and the failure says how often it was tried") {
  http_server server([](const http_ask&) -> moves { return {whole(503, "<html>down</html>", {}, "text/html")}; });
  auto client = open_client();
  auto settings = settings_for(server.url());
  settings.retries = 2;
  const auto failed = recorded_call(*client, settings).failed();
  CHECK(failed.why.code == "model_overloaded");
  CHECK_THAT(failed.why.detail, Catch::Contains("503") && Catch::Contains("tried 3 times") && Catch::Contains("down"));
  CHECK(server.asks().size() == 3);
}

TEST_CASE("Retry-After is honoured, and one that is too long ends the call at once") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.body.find("long") != std::string::npos) return {whole(429, "{}", "Retry-After: 3600\r\n")};
    return ask.number == 1 ? moves{whole(429, "{}", "retry-after-ms: 150\r\n")} : good_answer();
  });
  auto client = open_client();
  const event_recorder recorder = recorded_call(*client, settings_for(server.url()));
  REQUIRE(recorder.all<model_events::retrying>().size() == 1);
  CHECK(recorder.all<model_events::retrying>().front().after == 150ms);
  CHECK(recorder.times().at(1) - recorder.times().at(0) >= 150ms);
  const auto failed = recorded_call(*client, settings_for(server.url()), "long").failed();
  CHECK(failed.why.code == "model_overloaded");
  CHECK_THAT(failed.why.detail, Catch::Contains("3600 s"));
}

TEST_CASE("what was told is never asked for again: a cut answer is a failure") {
  http_server server([](const http_ask& ask) -> moves {
    const bool polite = ask.number == 2;
    return {head(200),
            {move::kind::send, text_piece("half"), {}},
            quell::testing::pause(50ms),
            polite ? close_now() : reset_now()};
  });
  auto client = open_client();
  for (int ask = 0; ask < 2; ++ask) {
    const event_recorder recorder = recorded_call(*client, settings_for(server.url()));
    CHECK(recorder.text() == "half");
    CHECK(recorder.failed().why.code == "model_cut");
  }
  CHECK(server.asks().size() == 2);
}

TEST_CASE("usage is told of a call that failed in the middle too") {
  http_server server([](const http_ask&) -> moves {
    return {
        chunked_head(),
        chunk("event: message_start\ndata: "
              "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":11,\"output_tokens\":1}}}\n\n"
              "data: "
              "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hm\"}}\n\n"
              "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")};
  });
  auto client = open_client();
  const auto failed = recorded_call(*client, settings_for(server.url(), provider::anthropic)).failed();
  CHECK(failed.why.code == "model_cut"); // a word had come
  CHECK_THAT(failed.why.detail, Catch::Contains("Overloaded"));
  CHECK(failed.usage == model_usage{11, 1, 0});
}

TEST_CASE("every deadline ends the call and closes its connection") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.body.find("silent") != std::string::npos) return {};
    if (ask.body.find("idle") != std::string::npos) return {chunked_head(), chunk(text_piece("x"))};
    moves endless{chunked_head()};
    for (int i = 0; i < 10'000; ++i) {
      endless.push_back(chunk(text_piece("x")));
      endless.push_back(quell::testing::pause(5ms));
    }
    return endless;
  });
  auto client = open_client();
  std::size_t closed = 0;
  for (const auto& [text, words] : {std::pair{"silent", "nothing came for 200 ms"},
                                    {"idle", "stopped coming for 300 ms"},
                                    {"endless", "no end after 6 s"}}) {
    auto settings = settings_for(server.url()); // one short limit at a time: a loaded machine can exceed any of them
    if (text == std::string("silent")) settings.first_event_timeout = 200ms;
    if (text == std::string("idle")) settings.idle_timeout = 300ms;
    if (text == std::string("endless")) settings.whole_timeout = 6000ms;
    const auto failed = recorded_call(*client, settings, text).failed();
    CHECK(failed.why.code == (text == std::string("silent") ? "model_timeout" : "model_cut")); // a part was shown
    CHECK_THAT(failed.why.detail, Catch::Contains(words));
    ++closed;
    server.until("the hang-up of a call that timed out", [&] { return server.hung_up() == closed; });
  }
}

TEST_CASE("nobody there, no such host, a wrong certificate file: clear faults after all tries") {
  auto client = open_client();
  auto settings = settings_for("http://127.0.0.1:1/v1");
  settings.retries = 1;
  CHECK_THAT(recorded_call(*client, settings).failed().why.detail,
             Catch::Contains("nobody answers there") && Catch::Contains("tried 2 times"));
  settings.base_url = "http://no-such-host.invalid/v1";
  CHECK(recorded_call(*client, settings).failed().why.code == "model_unavailable");
  settings.base_url = "no url at all";
  CHECK(recorded_call(*client, settings).failed().why.code == "model_refused");
}

TEST_CASE("what speaks no HTTP, or no stream, is a broken model") {
  http_server server([](const http_ask& ask) -> moves {
    const auto says = [&](const char* what) { return ask.body.find(what) != std::string::npos; };
    if (says("garbage")) return {{move::kind::send, "\x16\x03\x01 what is this\r\n\r\n", {}}, close_now()};
    if (says("page")) return {whole(200, "<html><body>Welcome to the portal</body></html>", {}, "text/html")};
    if (says("object")) return {whole(200, R"({"choices":[{"message":{"content":"not streamed"}}]})")};
    if (says("elsewhere")) return {whole(307, "", "Location: http://elsewhere.test/v1?key=abc\r\n")};
    if (says("binary")) return {head(200), {move::kind::send, std::string(5'000'000, '\xFE'), {}}};
    std::string headers;
    for (int i = 0; i < 20'000; ++i) headers += "X-" + std::to_string(i) + ": 12345678901234567890\r\n";
    return {head(200, "text/event-stream", headers)};
  });
  auto client = open_client();
  auto settings = settings_for(server.url());
  settings.retries = 0;
  for (const auto& [text, words] : {std::pair{"garbage", "no HTTP"},
                                    {"page", "Welcome to the portal"},
                                    {"object", "not streamed"},
                                    {"binary", "longer than"},
                                    {"headers", "KiB of headers"}}) {
    const auto failed = recorded_call(*client, settings, text).failed();
    CHECK(failed.why.code == "model_broken");
    CHECK_THAT(failed.why.detail, Catch::Contains(words));
  }
  const auto moved = recorded_call(*client, settings, "elsewhere").failed();
  CHECK(moved.why.code == "model_refused");
  CHECK_THAT(moved.why.detail, Catch::Contains("http://elsewhere.test/v1;"));
}

TEST_CASE("an endless error page is read to its limit only") {
  http_server server([](const http_ask&) -> moves {
    return {head(500, "text/plain"), {move::kind::send, std::string(20'000'000, 'e'), {}}};
  });
  auto client = open_client();
  auto settings = settings_for(server.url());
  settings.retries = 0;
  const auto failed = recorded_call(*client, settings).failed();
  CHECK(failed.why.code == "model_unavailable");
  CHECK(failed.why.detail.size() < 600);
  server.until("the hang-up", [&] { return server.open() == 0; });
}

TEST_CASE("a server that never says [DONE] nor closes is believed its finish_reason") {
  http_server server([](const http_ask&) -> moves {
    return {chunked_head(), chunk(R"(data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]})"
                                  "\n\n")};
  });
  auto client = open_client();
  CHECK(recorded_call(*client, settings_for(server.url())).finished().why == model_events::stop::end);
}
