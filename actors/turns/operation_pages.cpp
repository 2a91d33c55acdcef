// Each page continues behind the last row of the one before, so rows that change meanwhile are neither lost nor met
// twice.
#include "actors/turns/operation_pages.hpp"

#include <utility>

namespace quell::controller::turns {

namespace {

/// `take` returns whether it wants the next one. True: it did not.
result<bool> read_until(store_reader& store, records::operation_filter f,
                        const std::function<bool(records::operation_record&)>& take) {
  f.ascending = true;
  f.limit = operations_per_page;
  while (true) {
    auto page = store.operations(f);
    if (!page) return tl::unexpected(std::move(page.error()));
    if (page->empty()) return false;
    const bool is_last = page->size() < f.limit;
    f.after_seq = page->back().seq;
    for (auto& row : *page)
      if (!take(row)) return true;
    if (is_last) return false;
  }
}

} // namespace

std::optional<fault> for_each_operation(store_reader& store, records::operation_filter f,
                                        const std::function<void(records::operation_record&)>& take) {
  auto read = read_until(store, std::move(f), [&](records::operation_record& row) {
    take(row);
    return true;
  });
  return read ? std::nullopt : std::optional(std::move(read.error()));
}

result<bool> any_operation(store_reader& store, records::operation_filter f,
                           const std::function<bool(const records::operation_record&)>& test) {
  return read_until(store, std::move(f), [&](const records::operation_record& row) { return !test(row); });
}

std::optional<records::operation_record> turn_above(store_reader& store, std::optional<operation_id> parent) {
  while (parent) {
    auto row = store.operation(*parent);
    if (!row || !*row) return std::nullopt;
    if ((*row)->kind == kind::turn) return std::move(**row);
    parent = (*row)->parent;
  }
  return std::nullopt;
}

} // namespace quell::controller::turns
