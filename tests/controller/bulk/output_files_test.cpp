// Output in files: repeats, gaps, pruning, restarts, and those who wait for more.
#include <catch2/catch.hpp>
#include <filesystem>

#include "controller/bulk/output_files.hpp"

using namespace quell;
using namespace quell::controller;

namespace {

struct folder {
  std::string path =
      (std::filesystem::temp_directory_path() / ("quell-output-" + operation_id::fresh().text())).string();
  ~folder() { std::filesystem::remove_all(path); }
};

wire::output piece(const operation_id& id, std::uint64_t offset, std::string bytes, bool end = false,
                   stream which = stream::out) {
  return {id, which, offset, std::move(bytes), end};
}

std::string all(output_files& files, const operation_id& id, std::uint64_t from = 0) {
  std::string text;
  for (;;) {
    const auto s = files.read(id, stream::out, from, 7);
    REQUIRE(s);
    if (s->bytes.empty()) return text;
    text += s->bytes;
    from = s->offset + s->bytes.size();
  }
}

} // namespace

TEST_CASE("repeats are skipped and overlaps cut", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  CHECK(*files.append(piece(id, 0, "hello ")) == 6);
  CHECK(*files.append(piece(id, 0, "hello ")) == 6);
  CHECK(*files.append(piece(id, 3, "lo world")) == 11);
  CHECK(all(files, id) == "hello world");
  CHECK(files.counts(id).dropped_bytes == 0);
}

TEST_CASE("a jump is counted as dropped and read over", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  REQUIRE(files.append(piece(id, 0, "abc")));
  REQUIRE(files.append(piece(id, 10, "xyz")));
  const auto s = files.read(id, stream::out, 3, 100);
  REQUIRE(s);
  CHECK(s->offset == 10);
  CHECK(s->bytes == "xyz");
  CHECK(s->dropped == 7);
}

TEST_CASE("output of an operation that is not expected is refused", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  CHECK_FALSE(files.append(piece(operation_id::fresh(), 0, "abc")));
}

TEST_CASE("a restart goes on where the files end", "[output]") {
  folder f;
  const auto id = operation_id::fresh();
  {
    output_files files({.directory = f.path});
    files.expect(id, "w1");
    REQUIRE(files.append(piece(id, 0, "before ")));
  }
  output_files files({.directory = f.path});
  files.expect(id, "w1");
  const auto positions = files.positions("w1");
  REQUIRE(positions.size() == 1);
  CHECK(positions[0].out == 7);
  CHECK(*files.append(piece(id, 4, "re after")) == 12);
  CHECK(all(files, id) == "before after");
}

TEST_CASE("old segments are deleted and said to be dropped", "[output]") {
  folder f;
  output_files files({.directory = f.path, .segment_bytes = 10, .keep_bytes_per_stream = 20});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  for (std::uint64_t i = 0; i < 10; ++i)
    REQUIRE(files.append(piece(id, i * 10, std::string(10, static_cast<char>('0' + i)))));
  const auto s = files.read(id, stream::out, 0, 100);
  REQUIRE(s);
  CHECK(s->oldest == 80);
  CHECK(s->offset == 80);
  CHECK(s->dropped == 80);
  CHECK(s->size == 100);
}

TEST_CASE("a stream ends when the operation is closed and its counted bytes are there", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  REQUIRE(files.append(piece(id, 0, "abc")));
  CHECK_FALSE(files.read(id, stream::out, 0, 100)->end);
  files.counted(id, {6, 0, 0});
  files.close(id, boot_time{0});
  CHECK_FALSE(files.read(id, stream::out, 0, 100)->end);
  SECTION("they come") {
    REQUIRE(files.append(piece(id, 3, "def")));
    CHECK(files.read(id, stream::out, 0, 100)->end);
    CHECK(all(files, id) == "abcdef");
  }
  SECTION("they never come") {
    files.give_up(boot_time{} + std::chrono::seconds{20});
    CHECK(files.read(id, stream::out, 0, 100)->end);
  }
}

TEST_CASE("who waits is woken once, by more bytes or by the end", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  int woken = 0;
  files.watch(id, 0, 0, [&] { ++woken; });
  CHECK(woken == 0);
  REQUIRE(files.append(piece(id, 0, "abc")));
  CHECK(woken == 1);
  REQUIRE(files.append(piece(id, 3, "def")));
  CHECK(woken == 1);
  files.watch(id, 3, 0, [&] { ++woken; });
  CHECK(woken == 2);
  const auto ticket = files.watch(id, 6, 0, [&] { ++woken; });
  files.forget(ticket);
  files.watch(id, 6, 0, [&] { ++woken; });
  files.close(id, boot_time{0});
  CHECK(woken == 3);
}
