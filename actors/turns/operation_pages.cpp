// Each page continues behind the last row of the one before, so rows that change meanwhile are neither lost nor met
// twice.
#include "actors/turns/operation_pages.hpp"

namespace quell::controller::turns {

std::optional<fault> for_each_operation(store_reader& store, records::operation_filter f,
                                        const std::function<void(records::operation_record&)>& take) {
  f.ascending = true;
  f.limit = operations_per_page;
  while (true) {
    auto page = store.operations(f);
    if (!page) return page.error();
    if (page->empty()) return std::nullopt;
    const bool is_last = page->size() < f.limit;
    f.after_seq = page->back().seq;
    for (auto& row : *page) take(row);
    if (is_last) return std::nullopt;
  }
}

} // namespace quell::controller::turns
