// The few reads of the store that the texts about a stop need; the stop itself never waits for them.
#include "actors/turns/stop_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace quell::controller::turns {

namespace {

constexpr std::size_t most_named_at_once = 3;
constexpr std::uint32_t page = 200;
/// The most pages read of a cancel with very many operations; operations beyond them are still counted.
constexpr int most_pages = 50;

std::string name_in(const records::operation_record& o) {
  if (!o.name.empty()) return o.name;
  return o.title.empty() ? std::string(name_of(o.kind)) : o.title;
}

stop_telling telling_of(const nlohmann::json& data) {
  const auto state = data.value("state", "");
  for (const auto t :
       {stop_telling::stopping, stop_telling::unproven, stop_telling::stopped, stop_telling::unconfirmed})
    if (state == name_of(t)) return t;
  return data.contains("reaction") && data["reaction"].is_string() ? stop_telling::reaction : stop_telling::words;
}

} // namespace

std::vector<not_known> named(const std::vector<stuck_operation>& stuck, store_reader& store) {
  std::vector<not_known> names;
  for (const auto& one : stuck) {
    if (names.size() == most_named_at_once) break;
    const auto row = store.operation(one.id);
    names.push_back({row && *row ? name_in(**row) : "operation " + one.id.text(), one.why});
  }
  return names;
}

std::vector<not_known> not_known_of(const cancel_id& cancel, store_reader& store) {
  std::vector<not_known> names;
  records::operation_filter f;
  f.covered_by = cancel;
  f.want_live = false;
  f.ascending = true;
  f.limit = page;
  for (int i = 0; i < most_pages; ++i) {
    const auto rows = store.operations(f);
    if (!rows) break;
    for (const auto& o : *rows) {
      const auto how = o.hot.stop && o.hot.stop->how ? why_not_known(*o.hot.stop->how) : std::string();
      if (how.empty()) continue;
      names.push_back({name_in(o), how});
      if (names.size() == most_named_at_once) return names;
    }
    if (rows->size() < f.limit) break;
    f.after_seq = rows->back().seq;
  }
  return names;
}

std::unordered_map<message_id, stop_telling> acknowledged_before(const std::vector<records::message_record>& stops,
                                                                 store_reader& store) {
  std::unordered_map<message_id, stop_telling> tellings;
  if (stops.empty()) return tellings;
  records::event_filter f;
  f.types = {event_type::acknowledgement};
  while (true) {
    const auto events = store.events(f);
    if (!events) return tellings;
    for (const auto& e : *events) {
      const auto data = nlohmann::json::parse(e.data, nullptr, false);
      if (!data.is_object()) continue;
      const auto message = message_id::parse(data.value("message", ""));
      const bool is_requested =
          message &&
          std::any_of(stops.begin(), stops.end(), [&](const records::message_record& m) { return m.id == *message; });
      if (is_requested) tellings[*message] = telling_of(data);
    }
    if (events->size() < f.limit) return tellings;
    f.after = events->back().id;
  }
}

bool was_announced(const records::message_record& stop, store_reader& store) {
  records::event_filter f;
  f.types = {event_type::message_decided};
  f.scopes = {stop.scope};
  while (true) {
    const auto events = store.events(f);
    if (!events) return true; // an event that comes twice misleads, one that is missing does not
    for (const auto& e : *events) {
      const auto data = nlohmann::json::parse(e.data, nullptr, false);
      if (data.is_object() && data.value("message", nlohmann::json()) == stop.id.text()) return true;
    }
    if (events->size() < f.limit) return false;
    f.after = events->back().id;
  }
}

} // namespace quell::controller::turns
