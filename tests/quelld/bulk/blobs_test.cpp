// The routes of uploaded files over the wire: who may send and read them, and how large they may be.
#include <catch2/catch.hpp>

#include "gateway/message_body.hpp"
#include "quelld/bulk/blob_files.hpp"
#include "tests/gateway/world.hpp"

using namespace quell;
using namespace quell::controller;
using namespace quell::controller::test;

namespace {

const std::string png = std::string("\x89PNG\r\n\x1a\n") + "the rest of a picture";

struct upload_world {
  temp_directory directory;
  std::unique_ptr<blob_files> files;
  std::unique_ptr<gateway_world> world;

  upload_world() {
    blob_files::options o;
    o.directory = directory.path() + "/blobs";
    o.most_bytes = 3 << 20;
    o.now = [] { return std::chrono::floor<milliseconds>(std::chrono::system_clock::now()); };
    files = std::move(*blob_files::open(std::move(o)));
    world = std::make_unique<gateway_world>([this](gateway_options& g) {
      g.blobs = files.get();
      g.max_blob_bytes = 3 << 20;
    });
  }
  ~upload_world() { world.reset(); }

  http_reply put(const std::string& query, const std::string& bytes = png, const std::string& token = admin_secret,
                 const std::string& type = "image/png") {
    auto headers = gateway_world::with(token);
    headers.emplace_back("Content-Type", type);
    return world->ask("POST", "/v1/blobs" + query, headers, bytes);
  }
  http_reply get(const std::string& id, const std::string& token = admin_secret) {
    return world->ask("GET", "/v1/blobs/" + id, gateway_world::with(token));
  }
};

} // namespace

TEST_CASE("a file is stored for a scope and read back with its type") {
  upload_world w;
  const auto made = w.put("?scope=team/chat&name=photo.png");
  REQUIRE(made.status == 201);
  const auto blob = made.json();
  CHECK(blob["scope"] == "team/chat");
  CHECK(blob["name"] == "photo.png");
  CHECK(blob["type"] == "image/png");
  CHECK(blob["bytes"] == png.size());
  CHECK(blob["kept_until"].is_null());
  CHECK(w.put("?scope=team/chat&name=photo.png").status == 200);
  const auto read = w.get(blob["id"]);
  CHECK(read.status == 200);
  CHECK(read.body == png);
  CHECK(read.header("content-type") == "image/png");
  CHECK(read.header("content-disposition") == "attachment");
  CHECK(read.header("quell-sha256") == blob["sha256"]);
}

TEST_CASE("only tokens of its scope see a file") {
  upload_world w;
  const auto here = w.world->token("chat", "team"), there = w.world->token("chat", "other"),
             observer = w.world->token("observer", "team");
  const auto made = w.put("?scope=team/chat", png, here);
  REQUIRE(made.status == 201);
  const std::string id = made.json()["id"];
  CHECK(w.get(id, observer).status == 200);
  CHECK(w.get(id, there).code() == "blob_not_found");
  CHECK(w.get(operation_id::fresh().text()).code() == "blob_not_found");
  CHECK(w.get("x").code() == "bad_id");
  CHECK(w.put("?scope=team/chat", png, there).code() == "scope_forbidden");
  CHECK(w.put("?scope=team/chat", png, observer).code() == "forbidden");
  CHECK(w.put("", png, here).json()["scope"] == "team"); // the token's own
  CHECK(w.put("", png).code() == "invalid_field");
  CHECK(w.put("?scope=quell/mcp", png).code() == "bad_scope");
  CHECK(w.put("?scope=team&name=../up", png).code() == "invalid_field");
  CHECK(w.put("?scope=team&nam=x", png).status == 422);
  CHECK(w.put("?scope=team", png, admin_secret, "image/svg+xml").code() == "unsupported_media_type");
}

TEST_CASE("only the body of a file with a token may be larger than others") {
  upload_world w;
  const auto large = png + std::string(2 << 20, 'x'), too_large = png + std::string(3 << 20, 'x');
  const auto made = w.put("?scope=team", large);
  CHECK(made.status == 201);
  for (int i = 0; i < 10; ++i) REQUIRE(w.get(made.json()["id"]).body == large); // one after the other, any number
  CHECK(w.put("?scope=team", too_large).code() == "too_large");
  CHECK(w.put("?scope=team", large, "qk_unknown").code() == "too_large");
  CHECK(w.world->ask("POST", "/v1/cancels", gateway_world::admin(), std::string(2 << 20, ' ')).code() == "too_large");
}

TEST_CASE("attachments of a message are checked for shape") {
  const auto read = [](const std::string& list) {
    return http::read_message(R"({"scope":"team","text":"","author":{"id":"mia","name":"Mia"},"attachments":)" + list +
                              "}");
  };
  const auto id = operation_id::fresh().text();
  const auto sound = read(R"([{"blob":")" + id + R"(","name":"a.png"},{"blob":")" + id + R"("}])");
  REQUIRE(sound);
  REQUIRE(sound->order.files.size() == 2);
  CHECK(sound->order.files[0].blob == id);
  CHECK(sound->order.files[0].name == "a.png");
  for (const auto* wrong : {"7", "{}", "[7]", "[{}]", R"([{"blob":"x"}])", R"([{"blob":7}])"}) {
    INFO(wrong);
    CHECK_FALSE(read(wrong));
  }
  CHECK(read(R"([{"blob":")" + id + R"(","url":"http://x"}])").error().code == error_code::unknown_field);
  std::string many = "[";
  for (int i = 0; i < 11; ++i) many += (i ? "," : "") + std::string(R"({"blob":")") + id + "\"}";
  CHECK_FALSE(read(many + "]"));
}
