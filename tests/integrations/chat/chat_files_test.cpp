// Files of chat messages over a real server: only from the service's addresses, bounded, and ended by a stop.
#include <catch2/catch.hpp>

#include <future>

#include <nlohmann/json.hpp>

#include "integrations/chat/discord/read.hpp"
#include "integrations/chat/slack/read.hpp"
#include "integrations/chat/slack/write.hpp"
#include "integrations/chat/telegram/read.hpp"
#include "integrations/chat/telegram/write.hpp"
#include "integrations/chat/web_files.hpp"
#include "tests/integrations/http_server.hpp"

using namespace quell;
using namespace quell::integrations::chat;
using nlohmann::json;
using quell::testing::http_ask;
using quell::testing::http_server;
using quell::testing::moves;
using move = quell::testing::move;
using namespace std::chrono_literals;

namespace {

std::string answer_of(const std::string& head, const std::string& body) {
  return "HTTP/1.1 " + head + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct source_world {
  std::unique_ptr<web_loop> loop;
  std::vector<std::string> notes;

  source_world() {
    auto started = web_loop::start([](boot_time) { return std::optional<boot_time>{}; });
    REQUIRE(started);
    loop = std::move(*started);
  }

  file_tools tools() {
    file_tools t;
    t.run = [this](std::function<void(web_loop&)> job) { loop->run([this, job = std::move(job)] { job(*loop); }); };
    t.request_of = [](const offered_file& file) -> result<web_request> {
      if (file.place.empty()) return failure("not_fetched", "it is not kept here");
      web_request r;
      r.method = "GET";
      r.url = file.place;
      return r;
    };
    t.tell = [this](const std::string& sentence) { notes.push_back(sentence); };
    return t;
  }

  static result<std::string> fetch(file_source& source, const std::string& place, std::size_t most = 100) {
    auto promise = std::make_shared<std::promise<result<std::string>>>();
    auto future = promise->get_future();
    source.fetch(1, {"a", "image/png", {}, place}, {5s, most},
                 [promise](result<std::string> r) { promise->set_value(std::move(r)); });
    REQUIRE(future.wait_for(quell::testing::test_bound) == std::future_status::ready);
    return future.get();
  }
};

json slack_event(const json& files) {
  return {{"type", "event_callback"},
          {"team_id", "T1"},
          {"event",
           {{"type", "message"},
            {"subtype", "file_share"},
            {"channel", "C1"},
            {"user", "U1"},
            {"text", "see"},
            {"ts", "1700.000100"},
            {"files", files}}}};
}

} // namespace

TEST_CASE("an address counts as the service's own by scheme, host and port as they are fetched", "[chatfiles]") {
  const std::vector<std::string> own{"https://files.slack.com", "http://127.0.0.1:8080"};
  for (const char* url :
       {"https://files.slack.com/a.png", "https://FILES.slack.com:443/a?b=1", "http://127.0.0.1:8080/x"})
    CHECK(is_at_origin(url, own));
  for (const char* url :
       {"http://files.slack.com/a", "https://files.slack.com.evil.test/a", "https://evil.test/files.slack.com",
        "https://files.slack.com:8443/a", "https://me@files.slack.com/a", "https://files.slack.com@evil.test/a",
        "https://files.slack.com\\@evil.test/a", "https://evil.test#@files.slack.com/", "file:///etc/passwd", "",
        "https://files.slack.com/a b", "http://127.0.0.1:80801/x", "http://127.0.0.1/x", "//files.slack.com/a"})
    CHECK_FALSE(is_at_origin(url, own));
  CHECK(is_at_origin("https://a.test/files/x", {"https://a.test/files/"}));
  CHECK_FALSE(is_at_origin("https://a.test/other/x", {"https://a.test/files/"}));
  CHECK_FALSE(is_at_origin("https://a.test/x", {}));
}

TEST_CASE("a file is fetched whole, or it is said why not", "[chatfiles]") {
  http_server server([](const http_ask& a) {
    if (a.path == "/v1/gone") return moves{{move::kind::send, answer_of("404 No", "x")}};
    if (a.path == "/v1/moved")
      return moves{{move::kind::send, answer_of("302 There\r\nLocation: http://127.0.0.1:1/", "")}};
    if (a.path == "/v1/long") return moves{{move::kind::send, answer_of("200 OK", std::string(5000, 'x'))}};
    if (a.path == "/v1/cut")
      return moves{{move::kind::send, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"}, {move::kind::close, ""}};
    if (a.path == "/v1/empty") return moves{{move::kind::send, answer_of("200 OK", "")}};
    return moves{{move::kind::send, answer_of("200 OK", "bytes")}};
  });
  source_world w;
  const auto source = make_web_files(w.tools());
  const auto why = [&](const std::string& path) {
    const auto got = w.fetch(*source, path.empty() ? path : server.url() + path);
    return got ? "fetched" : got.error().detail;
  };
  CHECK(w.fetch(*source, server.url() + "/good") == "bytes");
  CHECK(why("/gone") == "it could not be fetched: the service answers with status 404");
  CHECK(why("/moved") == "it could not be fetched: the service answers with a redirect, which is not followed");
  CHECK(why("/long") == "it is larger than 100 bytes");
  CHECK(why("/cut") == "it could not be fetched: the service gave no complete answer");
  CHECK(why("/empty") == "it could not be fetched: it is empty");
  CHECK(why("") == "it is not kept here");
  for (const auto& ask : server.asks()) CHECK(ask.path.starts_with("/v1/"));
}

TEST_CASE("the first answer can say where the file is", "[chatfiles]") {
  http_server server([](const http_ask& a) {
    return moves{{move::kind::send, answer_of("200 OK", a.path == "/v1/where" ? "/there" : "bytes of " + a.path)}};
  });
  source_world w;
  auto tools = w.tools();
  tools.second_of = [&](const web_response& r) -> result<web_request> {
    if (r.body != "/there") return failure("not_fetched", "nobody knows where it is");
    web_request next;
    next.method = "GET";
    next.url = server.url() + r.body;
    return next;
  };
  const auto source = make_web_files(tools);
  CHECK(w.fetch(*source, server.url() + "/where") == "bytes of /v1/there");
  CHECK(w.fetch(*source, server.url() + "/elsewhere").error().detail == "nobody knows where it is");
}

TEST_CASE("a stop ends a fetch, also before it begins, and nobody is called", "[chatfiles]") {
  http_server silent([](const http_ask&) { return moves{{move::kind::wait, "", 60s}}; });
  source_world w;
  const auto source = make_web_files(w.tools());
  std::atomic<int> called = 0;
  source->fetch(7, {"a", "", {}, silent.url()}, {60s, 100}, [&](const result<std::string>&) { ++called; });
  silent.until("the request", [&] { return silent.asks().size() == 1; });
  source->stop(7);
  silent.until("the hang-up", [&] { return silent.hung_up() == 1; });
  source->stop(8);
  source->fetch(8, {"a", "", {}, silent.url()}, {60s, 100}, [&](const result<std::string>&) { ++called; });
  source->tell("enough");
  std::promise<void> done;
  w.loop->run([&] { done.set_value(); });
  REQUIRE(done.get_future().wait_for(quell::testing::test_bound) == std::future_status::ready);
  w.loop->stop();
  CHECK(silent.asks().size() == 1);
  CHECK(w.notes == std::vector<std::string>{"enough"});
  CHECK(called == 0);
}

TEST_CASE("Discord's files have addresses, also those of forwarded messages", "[chatfiles]") {
  const json one = {{"filename", "a.png"}, {"content_type", "image/png"}, {"size", 12}, {"url", "https://x/a.png"}};
  const json message = {{"attachments", json::array({one, "odd"})},
                        {"message_snapshots", json::array({{{"message", {{"attachments", json::array({one})}}}}})}};
  const auto files = discord::files_of(message.dump());
  REQUIRE(files.size() == 3);
  CHECK(files[0] == offered_file{"a.png", "image/png", 12, "https://x/a.png"});
  CHECK(files[1] == offered_file{});
  CHECK(files[2] == files[0]);
  CHECK(discord::files_of("no").empty());
}

TEST_CASE("Slack's files need the token, which no other address gets", "[chatfiles]") {
  const auto event = slack_event(json::array(
      {{{"name", "a.png"}, {"mimetype", "image/png"}, {"size", 12}, {"url_private", "https://files.slack.com/a.png"}},
       {{"name", "deleted"}},
       "odd"}));
  const auto got = slack::read_event(event.dump(), "UBOT");
  REQUIRE(got);
  const auto& files = std::get<slack::message>(*got).files;
  REQUIRE(files.size() == 1);
  CHECK(files[0] == offered_file{"a.png", "image/png", 12, "https://files.slack.com/a.png"});
  slack_settings settings;
  settings.bot_token = "xoxb-1";
  const auto request = slack::file_request(settings, files[0]);
  REQUIRE(request);
  CHECK(request->method == "GET");
  CHECK(request->headers == std::vector<std::string>{"Authorization: Bearer xoxb-1"});
  CHECK_FALSE(slack::file_request(settings, {"a", "", {}, "https://evil.test/a.png"}));
}

TEST_CASE("Telegram's photos and documents have ids, and a path that is checked", "[chatfiles]") {
  const auto read = [](const json& more) {
    json m = {{"message_id", 7}, {"from", {{"id", 5}}}, {"chat", {{"id", 5}, {"type", "private"}}}, {"text", "see"}};
    m.update(more);
    const auto u = telegram::read_update(json{{"update_id", 1}, {"message", m}}.dump(), {});
    REQUIRE(u);
    return std::get<telegram::message>(u->what).files;
  };
  CHECK(read({{"photo", json::array({{{"file_id", "s"}}, {{"file_id", "l"}, {"file_size", 9}}})}}) ==
        std::vector<offered_file>{{"photo.jpg", "image/jpeg", 9, "l"}});
  CHECK(read({{"document", {{"file_id", "d"}, {"file_name", "a.pdf"}, {"mime_type", "application/pdf"}}}}) ==
        std::vector<offered_file>{{"a.pdf", "application/pdf", {}, "d"}});
  CHECK(read({{"voice", {{"file_id", "v"}}}, {"photo", json::array()}}).empty());
  telegram_settings settings;
  settings.token = "123:secret";
  const auto place = [&](const std::string& path) {
    web_response r;
    r.what = web_end::answered;
    r.status = 200;
    r.body = json{{"ok", true}, {"result", {{"file_path", path}}}}.dump();
    const auto request = telegram::file_request(settings, r);
    return request ? request->url : request.error().detail;
  };
  CHECK(place("photos/file_1.jpg") == "https://api.telegram.org/file/bot123:secret/photos/file_1.jpg");
  for (const char* odd : {"", "/etc/passwd", "../x", "a/../../x", "a?b", "a b", "a#b", "a@b"})
    CHECK(place(odd).find("it could not be fetched") == 0);
  web_response refused;
  refused.what = web_end::answered;
  refused.body = R"({"ok":false,"description":"no file for bot123:secret"})";
  CHECK(telegram::file_request(settings, refused).error().detail.find("secret") == std::string::npos);
}
