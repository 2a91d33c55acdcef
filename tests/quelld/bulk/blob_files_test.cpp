// Uploaded files: what is taken, whose quota it counts for, what a restart and the sweep leave.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>

#include "quelld/bulk/blob_files.hpp"

using namespace quell;
using namespace quell::controller;
using namespace std::chrono_literals;

namespace {

const std::string png = std::string("\x89PNG\r\n\x1a\n") + "the rest of a picture";

struct blob_world {
  std::string path =
      (std::filesystem::temp_directory_path() / ("quell-blobs-" + operation_id::fresh().text())).string();
  wall_time now = std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
  blob_files::options limits;
  std::unique_ptr<blob_files> files;

  blob_world() { limits.directory = path; }
  ~blob_world() {
    files.reset();
    std::filesystem::remove_all(path);
  }

  void open() {
    files.reset();
    limits.now = [this] { return now; };
    auto opened = blob_files::open(limits);
    REQUIRE(opened);
    files = std::move(*opened);
  }

  result<put_blob> put(const std::string& bytes, const std::string& scope = "team", const std::string& holder = "t1",
                       const std::string& type = "image/png", const std::string& name = "a.png") {
    if (!files) open();
    std::promise<result<put_blob>> answer;
    files->put({*scope_path::parse(scope), holder, type, name, bytes},
               [&](result<put_blob> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  }
  std::string code(const result<put_blob>& r) { return r ? "taken" : r.error().code; }
};

} // namespace

TEST_CASE("a file of one request is kept for a shorter time, also over a restart", "[blobs]") {
  blob_world w;
  w.limits.keep = 30min;
  const auto usual = w.put(png);
  const auto put = [&w](const std::string& name, milliseconds keep) {
    if (!w.files) w.open();
    std::promise<result<put_blob>> answer;
    w.files->put({*scope_path::parse("team"), "t1", "image/png", name, png, std::nullopt, keep},
                 [&](result<put_blob> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  };
  const auto brief = put("b.png", 1min), longer = put("c.png", 2h);
  REQUIRE((usual && brief && longer));
  CHECK(brief->facts.kept_until == w.now + 1min);
  CHECK(longer->facts.kept_until == w.now + 30min);
  w.open();
  CHECK(w.files->find(brief->facts.id)->kept_until <= w.files->find(usual->facts.id)->kept_until - 28min);
  w.now += 2min;
  CHECK(w.files->sweep() == 1);
  CHECK_FALSE(w.files->find(brief->facts.id));
  CHECK((w.files->find(usual->facts.id) && w.files->find(longer->facts.id)));
}

TEST_CASE("a reserved blob gets its own id, also beside the same file, and once", "[blobs]") {
  blob_world w;
  const auto first = w.put(png);
  REQUIRE(first);
  const auto id = blob_id::fresh();
  CHECK_FALSE(w.files->find(id));
  const auto put = [&] {
    std::promise<result<put_blob>> answer;
    w.files->put({*scope_path::parse("team"), "t1", "image/png", "a.png", png, id},
                 [&](result<put_blob> done) { answer.set_value(std::move(done)); });
    return answer.get_future().get();
  };
  const auto own = put();
  REQUIRE(own);
  CHECK(own->is_new);
  CHECK(own->facts.id == id);
  CHECK_FALSE(put()->is_new);
  w.open();
  REQUIRE(w.files->find(id));
  CHECK(*w.files->read(id) == png);
  CHECK(*w.files->read(first->facts.id) == png);
}

TEST_CASE("a blob is read as it was sent, also after a restart, and the same file is stored once", "[blobs]") {
  blob_world w;
  const auto put = w.put(png);
  REQUIRE(put);
  CHECK(put->is_new);
  CHECK(put->facts.bytes == png.size());
  CHECK(put->facts.sha256.size() == 64);
  const auto again = w.put(png);
  REQUIRE(again);
  CHECK_FALSE(again->is_new);
  CHECK(again->facts.id == put->facts.id);
  CHECK(w.put(png, "other")->facts.id != put->facts.id);
  CHECK(w.put(png, "team", "t1", "image/png", "b.png")->is_new);
  w.open();
  const auto found = w.files->find(put->facts.id);
  REQUIRE(found);
  CHECK(found->scope.text() == "team");
  CHECK(found->holder == "t1");
  CHECK(found->type == "image/png");
  CHECK(found->name == "a.png");
  CHECK(found->sha256 == put->facts.sha256);
  CHECK(w.files->read(put->facts.id) == png);
  CHECK(w.files->read(blob_id::fresh()).error().code == "blob_not_found");
}

TEST_CASE("what a provider would refuse is refused at the upload", "[blobs]") {
  blob_world w;
  w.limits.most_bytes = 1000;
  CHECK(w.code(w.put("<svg/>", "team", "t1", "image/svg+xml")) == "unsupported_media_type");
  CHECK(w.code(w.put("no picture at all", "team", "t1", "image/png")) == "invalid_field");
  CHECK(w.code(w.put(png, "team", "t1", "image/jpeg")) == "invalid_field");
  CHECK(w.code(w.put("", "team", "t1", "text/plain")) == "invalid_field");
  CHECK(w.code(w.put("a\xff", "team", "t1", "text/plain")) == "invalid_field");
  CHECK(w.code(w.put("plain words", "team", "t1", "text/plain")) == "taken");
  CHECK(w.code(w.put("%PDF-1.7 and so on", "team", "t1", "application/pdf")) == "taken");
  CHECK(w.code(w.put(png + std::string(1000, 'x'))) == "too_large");
}

TEST_CASE("quotas of tokens and scopes hold over a restart, and nobody's files count for no token", "[blobs]") {
  blob_world w;
  w.limits.bytes_per_holder = 3 * 4096; // a small file takes a block
  w.limits.bytes_per_scope = 4 * 4096;
  w.limits.bytes_in_all = 6 * 4096;
  for (int i = 0; i < 3; ++i) CHECK(w.put(png + std::to_string(i)));
  CHECK(w.code(w.put(png + "more")) == "rate_limited");
  CHECK_FALSE(w.put(png + "1")->is_new); // it is there
  CHECK(w.put(png + "more", "team", "t2"));
  w.open();
  CHECK(w.code(w.put(png + "yet more", "elsewhere")) == "rate_limited");
  CHECK(w.code(w.put(png + "yet more", "team", "t3")) == "rate_limited");
  CHECK(w.put(png + "yet more", "elsewhere", ""));
  CHECK(w.put(png + "and more", "third", ""));
  CHECK(w.code(w.put(png + "too much", "fourth", "")) == "storage_unavailable");
}

TEST_CASE("a guild whose many channels send files leaves room for other guilds, also over a restart", "[blobs]") {
  blob_world w;
  w.limits.bytes_in_all = 16 * 4096;
  const auto put = [&](const std::string& scope) {
    return w.put(png + operation_id::fresh().text(), scope, "", "image/png", "a.png");
  };
  int taken = 0;
  while (taken < 100 && put("discord/g1/c" + std::to_string(taken))) ++taken;
  CHECK(taken == 8);
  CHECK(w.code(put("discord/g1/c1")) == "rate_limited");
  w.open();
  CHECK(w.code(put("discord/g1/c1")) == "rate_limited");
  for (int i = 0; i < 4; ++i) CHECK(put("discord/g2/c"));
  CHECK(w.code(put("discord/g2/c")) == "rate_limited");
  CHECK(put("discord/g3/c"));
  // A token has a limit of its own.
  CHECK(w.put(png, "discord/g1/c1", "t1"));
}

TEST_CASE("a blob goes when it was not used for its time, and gives its room back", "[blobs]") {
  blob_world w;
  w.limits.keep = 24h;
  w.limits.bytes_per_holder = 2 * 4096;
  const auto old = w.put(png), used = w.put(png + "2");
  REQUIRE(old);
  REQUIRE(used);
  CHECK(old->facts.kept_until == w.now + 24h);
  w.now += 20h;
  w.files->use({used->facts.id, blob_id::fresh()});
  CHECK(w.files->find(used->facts.id)->kept_until == w.now + 24h);
  w.now += 20h;
  CHECK(w.files->sweep() == 1);
  CHECK_FALSE(w.files->find(old->facts.id));
  CHECK(w.files->read(used->facts.id) == png + "2");
  CHECK_FALSE(std::filesystem::exists(w.path + "/" + old->facts.id.text()));
  CHECK(w.put(png + "3"));
}

TEST_CASE("a file that a crash left half written is not a blob", "[blobs]") {
  blob_world w;
  const auto put = w.put(png);
  REQUIRE(put);
  w.files.reset();
  const auto file = w.path + "/" + put->facts.id.text();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  std::ofstream(w.path + "/" + blob_id::fresh().text() + ".new") << "half";
  std::ofstream(w.path + "/" + blob_id::fresh().text()) << "no header";
  w.open();
  CHECK_FALSE(w.files->find(put->facts.id));
  std::size_t left = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(w.path)) ++left;
  CHECK(left == 2); // what cannot be read is left for people to look at
}
