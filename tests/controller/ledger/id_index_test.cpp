// The index of operations by id: finds what is in it, and nothing else, while it grows and loses entries.
#include "controller/ledger/id_index.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <rapidcheck.h>
#include <vector>

using namespace quell;
using quell::controller::live::id_index;
using quell::controller::live::none;
using slot = quell::controller::live::index;

namespace {

/// Ids that differ in few of their bytes.
operation_id id_of_number(std::uint32_t number) {
  operation_id id;
  id.bytes[0] = static_cast<std::uint8_t>(number % 7);
  id.bytes[8] = static_cast<std::uint8_t>(number);
  id.bytes[9] = static_cast<std::uint8_t>(number >> 8);
  id.bytes[15] = static_cast<std::uint8_t>(number >> 16);
  return id;
}

struct indexed {
  std::vector<operation_id> ids; ///< by slab index
  std::map<operation_id, slot> known;
  id_index all;

  auto id_at() const {
    return [this](slot at) -> const operation_id& { return ids[at]; };
  }
  void add(const operation_id& id) {
    if (known.contains(id)) return;
    ids.push_back(id);
    const auto at = static_cast<slot>(ids.size() - 1);
    all.add(id, at);
    known[id] = at;
  }
  void drop(const operation_id& id) {
    all.drop(id, id_at());
    known.erase(id);
  }
  bool finds(const operation_id& id) const {
    const auto at = known.find(id);
    return all.find(id, id_at()) == (at == known.end() ? none : at->second);
  }
};

} // namespace

TEST_CASE("the index finds what was added and not dropped, in any order") {
  CHECK(rc::check("steps of an index", [] {
    indexed tried;
    const auto steps = *rc::gen::container<std::vector<std::pair<bool, std::uint32_t>>>(
        rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<std::uint32_t>(0, 400)));
    for (const auto& [adds, number] : steps) {
      if (adds)
        tried.add(id_of_number(number));
      else
        tried.drop(id_of_number(number));
    }
    for (std::uint32_t number = 0; number < 400; ++number) RC_ASSERT(tried.finds(id_of_number(number)));
  }));
}

TEST_CASE("an index that has grown many times finds every entry") {
  indexed tried;
  constexpr std::uint32_t count = 50'000;
  for (std::uint32_t i = 0; i < count; ++i) tried.add(id_of_number(i));
  for (std::uint32_t i = 0; i < count; i += 2) tried.drop(id_of_number(i));
  for (std::uint32_t i = 0; i < count + 100; ++i)
    if (!tried.finds(id_of_number(i))) FAIL("entry " << i);
  CHECK(tried.all.memory_bytes() <= std::size_t{50'000} * 24);
}
