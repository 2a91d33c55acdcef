// A call's way to an answer: a wait for the model's turn, another try, another model; and a cancel in each of them.
#include <catch2/catch.hpp>

#include "tests/integrations/models/event_recorder.hpp"

using namespace quell;
using namespace quell::integrations;
using namespace quell::testing;

namespace {

moves answer(const std::string& text) { return {chunked_head(), chunk(text_piece(text) + end_piece()), last_chunk()}; }

event_recorder recorded_call(model_client& client, const model_settings& settings, const std::string& text = "hello") {
  event_recorder recorder;
  const auto call = client.ask(settings, asking(text), recorder.listener());
  recorder.wait_for_end();
  return recorder;
}

model_settings named(const http_server& server, const std::string& name) {
  auto settings = settings_for(server.url());
  settings.name = settings.model = name;
  settings.retries = 1;
  return settings;
}

bool is_for(const http_ask& ask, const std::string& model) {
  return ask.body.find('"' + model + '"') != std::string::npos;
}

std::string thought(const std::string& text) {
  return "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"" + text + "\"}}]}\n\n";
}

} // namespace

TEST_CASE("a model that is overloaded is replaced by the next one, and the listener hears of it") {
  http_server server([](const http_ask& ask) -> moves {
    if (is_for(ask, "first")) return {whole(529, R"({"error":{"type":"overloaded_error","message":"full"}})")};
    if (is_for(ask, "second")) return {whole(502, "{}")};
    return answer("third");
  });
  auto client = open_client();
  auto settings = named(server, "first");
  settings.fallbacks = {named(server, "second"), named(server, "third")};
  settings.prices = {1, 1, {}, {}};
  settings.fallbacks[1].prices = {1000, 1000, {}, {}};
  const auto recorder = recorded_call(*client, settings);
  CHECK(recorder.text() == "third");
  const auto falls = recorder.all<model_events::fell_back>();
  REQUIRE(falls.size() == 2);
  CHECK(falls[0].from == "first");
  CHECK(falls[0].to == "second");
  CHECK(falls[0].why.code == "model_overloaded");
  CHECK(falls[1].why.code == "model_unavailable");
  const auto retries = recorder.all<model_events::retrying>(); // each model has its own tries
  REQUIRE(retries.size() == 2);
  CHECK(retries[0].model == "first");
  CHECK(retries[0].code == "model_overloaded");
  CHECK(recorder.finished().usage.cost_nanos == 10 * 1'000'000); // 7 and 3 tokens at the third one's prices
}

TEST_CASE("a model whose account cannot pay is replaced without another try") {
  http_server server([](const http_ask& ask) -> moves {
    if (is_for(ask, "first")) return {whole(429, R"({"error":{"code":"insufficient_quota","message":"pay"}})")};
    if (is_for(ask, "second")) return {whole(402, "{}")};
    return answer("third");
  });
  auto client = open_client();
  auto settings = named(server, "first");
  settings.fallbacks = {named(server, "second"), named(server, "third")};
  const auto recorder = recorded_call(*client, settings);
  CHECK(recorder.text() == "third");
  const auto falls = recorder.all<model_events::fell_back>();
  REQUIRE(falls.size() == 2);
  CHECK(falls[0].why.code == "model_unpaid");
  CHECK(recorder.all<model_events::retrying>().empty());
  settings.fallbacks.clear();
  CHECK(recorded_call(*client, settings).failed().why.code == "model_unpaid");
}

TEST_CASE("what another model cannot mend, or what was begun, has no fallback") {
  http_server server([](const http_ask& ask) -> moves {
    if (!is_for(ask, "first")) return answer("second");
    if (ask.body.find("begun") != std::string::npos)
      return {chunked_head(), chunk(text_piece("half")), quell::testing::pause(20ms), close_now()};
    if (ask.body.find("too long") != std::string::npos)
      return {whole(400, R"({"error":{"code":"context_length_exceeded","message":"maximum context length is 8192"}})")};
    return {whole(401, "{}")};
  });
  auto client = open_client();
  auto settings = named(server, "first");
  settings.fallbacks = {named(server, "second")};
  CHECK(recorded_call(*client, settings).failed().why.code == "model_refused");
  CHECK(recorded_call(*client, settings, "too long").failed().why.code == "context_overflow");
  const auto cut = recorded_call(*client, settings, "begun");
  CHECK(cut.failed().why.code == "model_cut");
  CHECK(cut.text() == "half");
  CHECK(cut.failed().usage.estimated);
  CHECK(cut.failed().usage.output_tokens == 1);
  CHECK(cut.failed().usage.input_tokens > 0);
  CHECK(server.asks().size() == 3);
}

TEST_CASE("a stream that is cut before a word is asked again, although the model had thought aloud") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.number == 1) return {chunked_head(), chunk(thought("Hm")), quell::testing::pause(20ms), close_now()};
    return answer("there");
  });
  auto client = open_client();
  const auto recorder = recorded_call(*client, named(server, "m"));
  CHECK(recorder.text() == "there");
  CHECK(recorder.all<model_events::thinking>().size() == 1);
  REQUIRE(recorder.all<model_events::retrying>().size() == 1);
  CHECK(recorder.all<model_events::retrying>()[0].code == "model_cut");
}

TEST_CASE("comments of a stream are life: before the first event, and between two") {
  http_server server([](const http_ask&) -> moves {
    moves slowly{chunked_head()};
    const auto wait = [&slowly] {
      for (int i = 0; i < 16; ++i) {
        slowly.push_back(chunk(": still here\n\n"));
        slowly.push_back(quell::testing::pause(300ms));
      }
    };
    wait();
    slowly.push_back(chunk(text_piece("a")));
    wait();
    slowly.push_back(chunk(text_piece("b") + end_piece()));
    slowly.push_back(last_chunk());
    return slowly;
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.first_event_timeout = settings.idle_timeout = patient(4s);
  CHECK(recorded_call(*client, settings).text() == "ab");
}

TEST_CASE("calls wait for their model's turn, first come first served, and say so") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.body.find("long") != std::string::npos) return {chunked_head(), chunk(text_piece("a"))};
    return answer("b");
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.concurrency = 1;
  event_recorder first, second, third;
  closings closed;
  auto one = client->ask(settings, asking("long"), first.listener());
  first.wait_for<model_events::text>("the first answer");
  auto two = client->ask(settings, asking("short"), second.listener());
  second.wait_for<model_events::queued>("a wait");
  auto three = client->ask(settings, asking("short"), third.listener());
  third.wait_for<model_events::queued>("a wait");
  CHECK(third.all<model_events::queued>()[0].ahead == 1);
  CHECK(server.asks().size() == 1);

  // A cancel of one that waits is confirmed at once, and its place goes to the next.
  two->cancel(closed.one());
  closed.wait_for(1);
  CHECK(second.events().size() == 1);
  one->cancel(closed.one());
  third.wait_for_end();
  CHECK(third.text() == "b");
  REQUIRE(third.all<model_events::admitted>().size() == 1);
  CHECK(server.asks().size() == 2); // nothing was asked for the cancelled one
}

TEST_CASE("a call that rests between two tries leaves its place to others") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.body.find("busy") != std::string::npos) return {whole(429, "{}")};
    return answer("b");
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.concurrency = 1;
  settings.first_backoff = settings.longest_backoff = 60s;
  event_recorder resting;
  const auto one = client->ask(settings, asking("busy"), resting.listener());
  resting.wait_for<model_events::retrying>("a back-off");
  CHECK(recorded_call(*client, settings, "hello").text() == "b");
}

TEST_CASE("a call that waits too long for its turn asks the next model, or fails") {
  http_server server([](const http_ask& ask) -> moves {
    if (is_for(ask, "full")) return {chunked_head(), chunk(text_piece("a"))};
    return answer("other");
  });
  auto client = open_client();
  auto settings = named(server, "full");
  settings.concurrency = 1;
  event_recorder first;
  const auto one = client->ask(settings, asking("long"), first.listener());
  first.wait_for<model_events::text>("the first answer");
  settings.queue_timeout = 200ms;
  const auto failed = recorded_call(*client, settings).failed();
  CHECK(failed.why.code == "model_overloaded");
  CHECK_THAT(failed.why.detail, Catch::Contains("for its turn; then queue_timeout"));
  settings.fallbacks = {named(server, "other")};
  CHECK(recorded_call(*client, settings).text() == "other");
}

TEST_CASE("a cancel ends the way at every step of it: no event and no request follow") {
  http_server server([](const http_ask& ask) -> moves {
    if (is_for(ask, "first")) return {whole(503, "{}")};
    return {}; // the second takes the request and is silent
  });
  auto client = open_client();
  auto settings = named(server, "first");
  settings.fallbacks = {named(server, "second")};
  SECTION("in the fallback") {
    settings.retries = 0;
    event_recorder recorder;
    closings closed;
    const auto call = client->ask(settings, asking("x"), recorder.listener());
    recorder.wait_for<model_events::fell_back>("the fallback");
    server.until("the second request", [&] { return server.asks().size() == 2; });
    call->cancel(closed.one());
    const auto events_before = recorder.events().size();
    closed.wait_for(1);
    server.until("the hang-up", [&] { return server.hung_up() == 1; });
    CHECK(recorder.events().size() == events_before);
  }
  SECTION("between the last try and the fallback, from inside the listener") {
    settings.retries = 0;
    closings closed;
    std::mutex guard;
    std::unique_ptr<model_call> call;
    std::atomic<std::size_t> events{0};
    {
      const std::lock_guard lock(guard); // the listener waits until the call is known
      call = client->ask(settings, asking("x"), [&](const model_event&) {
        ++events;
        const std::lock_guard inner(guard);
        call->cancel(closed.one());
      });
    }
    closed.wait_for(1);
    CHECK(events == 1);
    CHECK(server.asks().size() == 1);
  }
  SECTION("in the wait before a retry") {
    settings.first_backoff = settings.longest_backoff = 60s;
    event_recorder recorder;
    closings closed;
    const auto call = client->ask(settings, asking("x"), recorder.listener());
    recorder.wait_for<model_events::retrying>("the wait");
    call->cancel(closed.one());
    closed.wait_for(1);
    CHECK(recorder.events().size() == 1);
    CHECK(server.asks().size() == 1);
  }
}

TEST_CASE("a call that is cut tells what it has used until then") {
  http_server server([](const http_ask&) -> moves {
    return {chunked_head(), chunk(text_piece(std::string(400, 'x')))};
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.prices = {1, 2, {}, {}};
  event_recorder recorder;
  closings closed;
  const auto call = client->ask(settings, asking("x"), recorder.listener());
  recorder.wait_for<model_events::text>("a text");
  call->cancel(closed.one());
  const auto used = call->used();
  CHECK(used.output_tokens == 100);
  CHECK(used.input_tokens > 0);
  CHECK(used.estimated);
  CHECK(used.cost_nanos == used.input_tokens * 1000 + 200'000);
  closed.wait_for(1);
}

TEST_CASE("a request whose model is silent counts with its input: stopped, or out of time") {
  http_server server([](const http_ask&) -> moves { return {}; });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.prices = {1, 2, {}, {}};
  const auto is_the_input = [](const model_usage& used) {
    CHECK(used.input_tokens > 0);
    CHECK(used.output_tokens == 0);
    CHECK(used.estimated);
    CHECK(used.cost_nanos == used.input_tokens * 1000);
  };
  SECTION("stopped") {
    event_recorder recorder;
    closings closed;
    const auto call = client->ask(settings, asking("x"), recorder.listener());
    server.until("the request", [&] { return server.asks().size() == 1; });
    call->cancel(closed.one());
    is_the_input(call->used());
    closed.wait_for(1);
  }
  SECTION("out of time for its first word, or as a whole") {
    (GENERATE(true, false) ? settings.first_event_timeout : settings.whole_timeout) = 300ms;
    is_the_input(recorded_call(*client, settings).failed().usage);
  }
  SECTION("out of time, then another model answers") {
    settings.first_event_timeout = 300ms;
    auto other = named(server, "other");
    other.base_url = "http://127.0.0.1:1";
    settings.fallbacks = {other};
    const auto recorder = recorded_call(*client, settings);
    REQUIRE(recorder.all<model_events::fell_back>().size() == 1);
    is_the_input(recorder.all<model_events::fell_back>()[0].spent);
    is_the_input(recorder.failed().usage); // the other one costs nothing: nobody listens there
  }
}

TEST_CASE("an attempt that broke off says what it used before the next one, and the end includes it") {
  http_server server([](const http_ask& ask) -> moves {
    if (ask.number > 2) return answer("Hello"); // 7 and 3 tokens
    return {chunked_head(), chunk("data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"}}]}\n\n"),
            last_chunk()};
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.prices = {1, 2, {}, {}};
  settings.retries = 2;
  settings.first_backoff = settings.longest_backoff = 1ms;
  const auto recorder = recorded_call(*client, settings);
  const auto retries = recorder.all<model_events::retrying>();
  REQUIRE(retries.size() == 2);
  model_usage spent;
  for (const auto& one : retries) {
    CHECK((one.spent.input_tokens > 0 && one.spent.output_tokens == 0 && one.spent.estimated));
    spent += one.spent;
  }
  const auto rest = usage_less(recorder.finished().usage, spent);
  CHECK((rest.input_tokens == 7 && rest.output_tokens == 3));
}

TEST_CASE("a provider that says nothing of what a whole answer has used does not answer for free") {
  const bool says_nought = GENERATE(true, false);
  http_server server([&](const http_ask&) -> moves {
    std::string end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    if (says_nought) end += "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0}}\n\n";
    return {chunked_head(), chunk(text_piece(std::string(400, 'x')) + end + "data: [DONE]\n\n"), last_chunk()};
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.prices = {1, 2, {}, {}};
  const auto used = recorded_call(*client, settings).finished().usage;
  CHECK(used.output_tokens == 100);
  CHECK(used.input_tokens > 0);
  CHECK(used.estimated);
  CHECK(used.cost_nanos == used.input_tokens * 1000 + 200'000);
}

TEST_CASE("a request that nobody took, or that was refused, costs nothing") {
  const bool is_refused = GENERATE(true, false);
  http_server server([](const http_ask&) -> moves { return {whole(503, "{}")}; });
  auto client = open_client();
  auto settings = named(server, "m");
  if (!is_refused) settings.base_url = "http://127.0.0.1:1";
  settings.prices = {1, 2, {}, {}};
  SECTION("to its end") { CHECK(recorded_call(*client, settings).failed().usage == model_usage{}); }
  SECTION("stopped in the wait before the next try") {
    settings.first_backoff = settings.longest_backoff = 60s;
    event_recorder recorder;
    closings closed;
    const auto call = client->ask(settings, asking("x"), recorder.listener());
    recorder.wait_for<model_events::retrying>("the wait");
    call->cancel(closed.one());
    CHECK(call->used() == model_usage{});
    closed.wait_for(1);
  }
}

TEST_CASE("secret headers are cut out of what a server says") {
  http_server server([](const http_ask& ask) -> moves {
    return {whole(400, R"({"error":{"message":"bad )" + ask.headers.at("x-gateway-key") + R"( here"}})")};
  });
  auto client = open_client();
  auto settings = named(server, "m");
  settings.headers = {{"X-Gateway-Key", "gw-very-secret"}};
  CHECK_THAT(recorded_call(*client, settings).failed().why.detail,
             Catch::Contains("bad *** here") && !Catch::Contains("gw-very-secret"));
}
