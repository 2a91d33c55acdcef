// Output in files: repeats, gaps, pruning, restarts, and readers that wait for more.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "quelld/bulk/output_files.hpp"

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

TEST_CASE("many bytes are located in their file, few are read", "[output]") {
  folder f;
  output_files files({.directory = f.path, .segment_bytes = 100'000});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  std::string text;
  for (int i = 0; text.size() < 150'000; ++i) text += "line " + std::to_string(i) + "\n";
  for (std::size_t from = 0; from < text.size(); from += 50'000)
    REQUIRE(files.append(piece(id, from, text.substr(from, 50'000))));
  const auto check_all = [&] {
    const auto first = files.locate(id, stream::out, 10, 1'000'000);
    REQUIRE(first);
    REQUIRE(first->stored);
    CHECK(first->about.bytes.empty());
    CHECK(first->about.offset == 10);
    CHECK(first->length() == 100'000 - 10); // to the end of its segment
    std::string got(first->length(), '\0');
    CHECK(::pread(*first->stored->descriptor, got.data(), got.size(), static_cast<off_t>(first->stored->from)) ==
          static_cast<ssize_t>(got.size()));
    CHECK(got == text.substr(10, got.size()));
    const auto cut = files.locate(id, stream::out, 100'000, 40'000);
    REQUIRE(cut);
    CHECK(cut->length() == 40'000);
    CHECK_FALSE(cut->about.end);
    const auto few = files.locate(id, stream::out, text.size() - 100, 1'000'000);
    REQUIRE(few);
    CHECK_FALSE(few->stored);
    CHECK(few->about.bytes == text.substr(text.size() - 100));
  };
  check_all();
  CHECK_FALSE(files.locate(id, stream::out, 100'000, 1'000'000)->about.end);
  files.counted(id, "w1", {text.size(), 0, 0});
  files.close(id, boot_time{});
  check_all();
  CHECK(files.locate(id, stream::out, 100'000, 1'000'000)->about.end);
  const auto kept = files.locate(id, stream::out, 0, 1'000'000);
  files.drop(id);
  REQUIRE(kept);
  char byte = 0; // what was located can be read although the output is gone
  CHECK(::pread(*kept->stored->descriptor, &byte, 1, 0) == 1);
  CHECK(byte == text[0]);
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

TEST_CASE("the end lies behind the last bytes, which were dropped", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  REQUIRE(files.append(piece(id, 0, "abc")));
  REQUIRE(files.append(piece(id, 10, "", true)));
  const auto s = files.read(id, stream::out, 3, 100);
  REQUIRE(s);
  CHECK(s->offset == 10);
  CHECK(s->end);
  CHECK(s->dropped == 7);
  CHECK_FALSE(files.read(id, stream::out, 0, 100)->end);
  files.counted(id, "w1", {10, 0, 7});
  files.close(id, boot_time{0}); // from now on its files are all that is known
  CHECK(files.read(id, stream::out, 3, 100)->offset == 10);
  CHECK(files.read(id, stream::out, 3, 100)->end);
  const auto counts = files.counts(id);
  CHECK(counts.stdout_bytes == 10);
  CHECK(counts.dropped_bytes == 7);
  CHECK(files.order(id, 0, 9).size() == 1);
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
  files.counted(id, "w1", {6, 0, 0});
  files.close(id, boot_time{0});
  CHECK_FALSE(files.read(id, stream::out, 0, 100)->end);
  SECTION("they come") {
    REQUIRE(files.append(piece(id, 3, "def")));
    CHECK(files.read(id, stream::out, 0, 100)->end);
    CHECK(all(files, id) == "abcdef");
  }
  SECTION("they never come") {
    files.give_up(boot_time{} + std::chrono::seconds{20});
    CHECK(files.read(id, stream::out, 0, 100)->bytes == "abc");
    CHECK(files.read(id, stream::out, 3, 100)->end);
    CHECK(files.read(id, stream::out, 3, 100)->offset == 6);
    CHECK(files.counts(id).stdout_bytes == 6);
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

TEST_CASE("who looked while the last bytes came, and waits only now, is woken at once", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh(), idle = operation_id::fresh();
  int woken = 0;
  files.watch(idle, 0, 0, [&] { ++woken; }); // not sent to a worker yet
  files.expect(id, "w1");
  REQUIRE(files.append(piece(id, 0, "abc")));
  CHECK_FALSE(files.read(id, stream::out, 3, 100)->end);
  files.counted(id, "w1", {3, 0, 0});
  files.close(id, boot_time{0}); // complete: nothing will ever come
  CHECK(woken == 0);
  files.watch(id, 3, 0, [&] { ++woken; });
  CHECK(woken == 1);
}

TEST_CASE("when output came is known to about a second, after a restart too", "[output]") {
  folder f;
  const auto id = operation_id::fresh();
  const wall_time began{milliseconds{1'800'000'000'000}};
  const auto at = [&](int seconds) { return began + std::chrono::seconds{seconds}; };
  const auto times = [](const std::vector<output_store::piece>& pieces) {
    std::vector<std::tuple<stream, std::uint64_t, std::uint64_t, wall_time>> all;
    for (const auto& p : pieces) all.emplace_back(p.which, p.offset, p.length, p.at);
    return all;
  };
  {
    output_files files({.directory = f.path});
    files.expect(id, "w1");
    REQUIRE(files.append(piece(id, 0, "one"), at(0)));
    REQUIRE(files.append(piece(id, 3, "two"), at(0) + std::chrono::milliseconds{300}));
    REQUIRE(files.append(piece(id, 0, "err", false, stream::err), at(5)));
    REQUIRE(files.append(piece(id, 6, "three"), at(60)));
    CHECK(times(files.order(id, 0, 10)).size() == 4);
    CHECK(files.order(id, 0, 10).back().at == at(60));
  }
  output_files files({.directory = f.path});
  const auto again = files.order(id, 0, 10);
  REQUIRE(again.size() == 3);
  const auto marked = times(again);
  CHECK(std::count(marked.begin(), marked.end(), std::tuple(stream::out, std::uint64_t{0}, std::uint64_t{6}, at(0))) ==
        1);
  CHECK(std::count(marked.begin(), marked.end(), std::tuple(stream::out, std::uint64_t{6}, std::uint64_t{5}, at(60))) ==
        1);
  CHECK(all(files, id) == "onetwothree");
  files.expect(id, "w1");
  REQUIRE(files.append(piece(id, 11, "four"), at(90)));
  output_files third({.directory = f.path});
  CHECK(third.order(id, 0, 10).back().at >= at(90));
  files.drop(id);
  CHECK(files.counts(id).stdout_bytes == 15); // it is open, so it is kept
  third.drop(id);
  CHECK(third.counts(id).stdout_bytes == 0);
}

TEST_CASE("only its own worker says how much a task has written", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  files.counted(id, "w1", {3, 0, 0});
  files.counted(id, "w2", {0, 0, 0});
  files.close(id, boot_time{0});
  CHECK_FALSE(files.read(id, stream::out, 0, 100)->end);
  REQUIRE(files.append(piece(id, 0, "abc")));
  CHECK(files.read(id, stream::out, 0, 100)->end);
}

TEST_CASE("an offset that no task reaches is refused", "[output]") {
  folder f;
  output_files files({.directory = f.path});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  CHECK_FALSE(files.append(piece(id, ~std::uint64_t{0} - 1, "abc")));
  CHECK_FALSE(files.append(piece(id, 1ULL << 62, "")));
  CHECK(*files.append(piece(id, 0, "abc")) == 3);
}

TEST_CASE("a stream full of gaps keeps a bounded number of files", "[output]") {
  folder f;
  output_files files({.directory = f.path, .keep_segments_per_stream = 10});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  for (std::uint64_t i = 0; i < 100; ++i) REQUIRE(files.append(piece(id, i * 10, "x")));
  std::size_t count = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(f.path)) count += file.is_regular_file();
  CHECK(count == 10);
  const auto s = files.read(id, stream::out, 0, 100);
  CHECK(s->oldest == 900);
  CHECK(s->dropped == 981);
}

TEST_CASE("the order of very many pieces keeps its count when the oldest go", "[output]") {
  folder f;
  output_files files({.directory = f.path, .most_pieces = 10});
  const auto id = operation_id::fresh();
  files.expect(id, "w1");
  for (std::uint64_t i = 0; i < 25; ++i) REQUIRE(files.append(piece(id, i, "x")));
  CHECK(files.order(id, 0, 100).size() == 25);
  CHECK(files.order(id, 0, 100)[14].length == 0);
  CHECK(files.order(id, 0, 100)[15].offset == 15);
  const auto last = files.order(id, 24, 100);
  REQUIRE(last.size() == 1);
  CHECK(last[0].offset == 24);
  CHECK(files.order(id, 25, 100).empty());
}

TEST_CASE("files that somebody else put into a folder are left alone", "[output]") {
  folder f;
  const auto id = operation_id::fresh();
  const auto place = f.path + "/" + id.text().substr(34) + "/" + id.text();
  {
    output_files files({.directory = f.path});
    files.expect(id, "w1");
    REQUIRE(files.append(piece(id, 0, "0123456789")));
  }
  const auto put = [&place](const std::string& name) { std::ofstream(place + "/" + name) << "foreign"; };
  put("stdout.0000000000000005"); // overlaps the first segment
  put("stdout.ffffffffffffffff"); // no sum may overflow
  put("stdout.12");
  put("stdout.000000000000000g");
  std::filesystem::create_directory(place + "/stdout.0000000000000020");
  output_files files({.directory = f.path});
  const auto s = files.read(id, stream::out, 0, 100);
  CHECK(s->bytes == "0123456789");
  CHECK(s->size == 10);
  CHECK(s->dropped == 0);
}
