// Cost limits of reads: a list whose time is over returns its position, and a statement that takes too long or is no
// longer wanted is interrupted.
#include <catch2/catch.hpp>

#include "storage/queries.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

constexpr std::uint64_t rows = 6'000;

/// Every 500th operation is called "rare"; no index covers the name.
struct long_store {
  temp_directory directory;
  store s{directory.path()};
  std::unique_ptr<controller::limited_store_reader> reader;
  operation_filter f;

  long_store() {
    std::vector<entry> batch;
    for (std::uint64_t seq = 1; seq <= rows; ++seq) {
      auto o = operation(seq, "team/a");
      o.name = seq % 500 == 0 ? "rare" : "common";
      batch.push_back(put_operation{std::move(o)});
    }
    REQUIRE_FALSE(s.write(std::move(batch)));
    reader = std::move(*open_limited_reader(directory.path()));
    f.names = {"rare"};
  }

  std::vector<std::uint64_t> seqs() {
    const auto page = reader->operations(f);
    REQUIRE(page);
    std::vector<std::uint64_t> all;
    for (const auto& o : *page) all.push_back(o.seq);
    return all;
  }
};

} // namespace

TEST_CASE("a list whose time is over says how far it came, and nothing is missing when it goes on from there") {
  long_store large;
  large.f.ascending = GENERATE(false, true);
  const auto whole = large.seqs();
  REQUIRE(whole.size() == rows / 500);
  CHECK_FALSE(large.reader->cut_at());
  large.reader->limit({.until = controller::read_budget::clock::now(), .abandoned = {}});
  std::vector<std::uint64_t> parts;
  int pages = 0;
  for (std::optional<std::uint64_t> behind = 0; behind; behind = large.reader->cut_at()) {
    large.f.after_seq = *behind;
    const auto part = large.seqs();
    parts.insert(parts.end(), part.begin(), part.end());
    REQUIRE(++pages < 100);
  }
  CHECK(parts == whole);
  CHECK(pages > 2);
}

TEST_CASE("a full page is not cut, however late it is") {
  long_store large;
  large.f.names = {"common"};
  large.f.limit = 10;
  large.reader->limit({.until = controller::read_budget::clock::now(), .abandoned = {}});
  CHECK(large.seqs().size() == 10);
  CHECK_FALSE(large.reader->cut_at());
}

TEST_CASE("what takes longer than it may fails in the middle, and the next read is well") {
  long_store large;
  large.reader->limit({.end = controller::read_budget::clock::now(), .abandoned = {}});
  const auto late = large.reader->operations(large.f);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == "too_slow");
  large.reader->limit({});
  CHECK(large.seqs().size() == rows / 500);
}

TEST_CASE("what nobody waits for any more is not read on") {
  long_store large;
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  large.reader->limit({.abandoned = gone});
  CHECK(large.seqs().size() == rows / 500);
  *gone = true;
  const auto dropped = large.reader->operations(large.f);
  REQUIRE_FALSE(dropped);
  CHECK(dropped.error().code == "abandoned");
}
