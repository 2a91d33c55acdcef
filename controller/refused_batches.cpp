// Refused batches: which of their rows are still valid, and which effects wait for them.
#include "controller/refused_batches.hpp"

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <unordered_set>

namespace quell::controller {

namespace {

template <class Id>
std::string id_key(char kind, const Id& id) {
  return kind + std::string(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
}

} // namespace

std::string row_key(const records::entry& row) {
  return std::visit(
      [](const auto& e) -> std::string {
        using kind = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<kind, records::update_operation>) return id_key('o', e.id);
        if constexpr (std::is_same_v<kind, records::put_cancel>) return id_key('c', e.record.id);
        if constexpr (std::is_same_v<kind, records::put_cutoff>) return 's' + e.record.scope.text();
        if constexpr (std::is_same_v<kind, records::drop_cutoff>) return 's' + e.scope.text();
        if constexpr (std::is_same_v<kind, records::put_tombstone>) return id_key('t', e.record.id);
        if constexpr (std::is_same_v<kind, records::drop_tombstone>) return id_key('t', e.id);
        if constexpr (std::is_same_v<kind, records::put_worker>) return 'w' + e.record.name;
        if constexpr (std::is_same_v<kind, records::drop_worker>) return 'w' + e.name;
        if constexpr (std::is_same_v<kind, records::put_turn_cost>) return id_key('u', e.record.turn);
        if constexpr (std::is_same_v<kind, records::drop_turn_cost>) return id_key('u', e.turn);
        return {}; // inserts, events, tokens, numbers: independent of other rows
      },
      row);
}

std::vector<std::string> row_keys(const std::vector<records::entry>& rows) {
  std::vector<std::string> keys;
  keys.reserve(rows.size());
  for (const auto& row : rows)
    if (auto key = row_key(row); !key.empty()) keys.push_back(std::move(key));
  return keys;
}

bool holds_end_of(const std::vector<records::entry>& rows, const operation_id& id) {
  return std::any_of(rows.begin(), rows.end(), [&](const records::entry& row) {
    const auto* update = std::get_if<records::update_operation>(&row);
    return update && update->id == id && (update->hot.ended_seq != 0 || update->hot.self_status);
  });
}

const records::operation_hot* newest_row(const std::vector<records::entry>& rows, const operation_id& id) {
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (const auto* update = std::get_if<records::update_operation>(&*row); update && update->id == id)
      return &update->hot;
  return nullptr;
}

std::optional<std::uint64_t> reservation(const std::vector<records::entry>& rows) {
  std::optional<std::uint64_t> limit;
  for (const auto& row : rows)
    if (const auto* r = std::get_if<records::reserve_seq>(&row)) limit = std::max(limit.value_or(0), r->limit);
  return limit;
}

void refused_batches::overtaken_by(const std::vector<std::string>& keys) {
  if (turns_.empty() || keys.empty()) return;
  const std::unordered_set<std::string> newer(keys.begin(), keys.end());
  for (auto& t : turns_) std::erase_if(t.rows, [&](const auto& row) { return newer.contains(row_key(row)); });
}

bool refused_batches::holds(const std::string& key) const {
  return std::any_of(turns_.begin(), turns_.end(), [&](const turn& t) {
    return std::any_of(t.rows.begin(), t.rows.end(), [&](const records::entry& row) { return row_key(row) == key; });
  });
}

const records::operation_hot* refused_batches::find(const operation_id& id) const {
  for (auto t = turns_.rbegin(); t != turns_.rend(); ++t)
    if (const auto* hot = newest_row(t->rows, id)) return hot;
  return nullptr;
}

refused_batches::turn refused_batches::take() {
  turn all;
  for (auto& t : turns_) {
    std::move(t.rows.begin(), t.rows.end(), std::back_inserter(all.rows));
    std::move(t.stored.begin(), t.stored.end(), std::back_inserter(all.stored));
    all.ended.insert(all.ended.end(), t.ended.begin(), t.ended.end());
  }
  turns_.clear();
  return all;
}

bool refused_batches::take_result(const std::string& worker, const operation_id& id) {
  for (auto& t : turns_) {
    if (!holds_end_of(t.rows, id)) continue;
    const std::pair<std::string, operation_id> result{worker, id};
    if (std::find(t.stored.begin(), t.stored.end(), result) == t.stored.end()) t.stored.push_back(result);
    return true;
  }
  return false;
}

} // namespace quell::controller
