// Every filter against a model that checks all rows one by one, on random trees, scopes, ends and cancels.
#include <SQLiteCpp/Database.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "storage/filters.hpp"
#include "storage/schema.hpp"
#include "tests/storage/fixture.hpp"

using namespace quell;
using namespace quell::storage;
using namespace quell::storage::test;

namespace {

struct world {
  std::mt19937 random;
  std::vector<operation_record> operations; // by seq
  std::vector<cancel_record> cancels;
  std::vector<event_record> events;

  explicit world(unsigned seed) : random(seed) {}

  std::uint64_t below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); }
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  template <class T>
  const T& one_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }

  const operation_record* find(const std::optional<operation_id>& id) const {
    for (const auto& o : operations)
      if (id && o.id == *id) return &o;
    return nullptr;
  }

  void grow(std::uint64_t steps) {
    static const std::vector<std::string> roots{"team",     "team/a",   "team/ab", "team/a/b",
                                                "team/a.b", "team/a-1", "team/A",  "x"};
    static const std::vector<std::string> deeper{"", "", "/b", "/a", "/0"};
    for (std::uint64_t seq = 1; seq <= steps; ++seq) {
      if (seq > 3 && chance(20)) {
        add_cancel(seq);
        continue;
      }
      const auto* parent = !operations.empty() && chance(60) ? &one_of(operations) : nullptr;
      auto o = operation(seq, parent ? parent->scope.text() + one_of(deeper) : one_of(roots), parent);
      o.kind = static_cast<kind>(below(3));
      o.name = one_of<std::string>({"true", "pytest"});
      o.owner.id = one_of<std::string>({"alice", "bob", "carol"});
      o.detached = parent && chance(15);
      if (chance(10)) o.as_of = 1 + below(seq);
      if (chance(40)) o.labels["pr"] = one_of<std::string>({"1", "2"});
      if (chance(40)) o.labels["os"] = one_of<std::string>({"linux", "1"});
      if (chance(60)) o.hot.worker = one_of<std::string>({"w1", "w2"});
      if (chance(50)) {
        o.hot.now = static_cast<status>(static_cast<int>(status::completed) + static_cast<int>(below(3)));
        o.hot.ended_seq = seq + 1 + below(steps);
        o.hot.ended_at = at(static_cast<std::int64_t>(1'000 + below(steps)));
        if (chance(50))
          o.hot.error =
              quell::records::operation_error{one_of<std::string>({"error", "timeout", "worker_lost"}), "wrong"};
      }
      operations.push_back(std::move(o));
    }
    for (std::uint64_t id = 1; id <= steps; ++id) {
      auto e =
          event(id, one_of<std::string>({"operation_created", "operation_started", "audit", "of_another_version"}));
      if (chance(80)) {
        const auto& about = one_of(operations);
        e.operation = about.id;
        e.root = about.root;
        e.scope = about.scope;
      }
      events.push_back(std::move(e));
    }
  }

  void add_cancel(std::uint64_t seq) {
    const auto maybe_below = [&]() -> std::optional<scope_path> {
      if (chance(50)) return std::nullopt;
      return one_of(operations).scope;
    };
    cancel_target target;
    switch (below(4)) {
    case 0:
      target = target_operation{one_of(operations).id};
      break;
    case 1:
      target = target_scope{one_of(operations).scope};
      break;
    case 2:
      target = target_owner{one_of<std::string>({"alice", "bob"}), maybe_below()};
      break;
    default:
      target = target_everything{maybe_below()};
    }
    auto c = cancel_of(std::move(target), seq);
    c.by.id = one_of<std::string>({"alice", "bob"});
    c.status = static_cast<cancel_status>(below(3));
    if (chance(40)) c.cutoff = *(c.up_to_seq = 1 + below(seq));
    cancels.push_back(std::move(c));
  }

  bool is_under(const std::optional<operation_id>& id, const operation_id& top) const {
    for (const auto* o = find(id); o; o = find(o->parent))
      if (o->id == top) return true;
    return false;
  }

  static bool lived(const operation_record& o, const cancel_record& c) {
    return o.seq < c.seq && (o.hot.ended_seq == 0 || o.hot.ended_seq > c.seq);
  }

  bool covered(const operation_record& o, const cancel_record& c) const {
    if (!lived(o, c)) return false;
    bool named = false;
    if (const auto* t = std::get_if<target_operation>(&c.target)) named = t->id == o.id;
    if (const auto* t = std::get_if<target_scope>(&c.target)) named = o.scope.is_at_or_below(t->scope);
    if (const auto* t = std::get_if<target_owner>(&c.target))
      named = o.owner.id == t->owner && (!t->below || o.scope.is_at_or_below(*t->below));
    if (const auto* t = std::get_if<target_everything>(&c.target))
      named = !t->below || o.scope.is_at_or_below(*t->below);
    if (named && o.as_of <= c.cutoff) return true;
    const auto* parent = o.detached ? nullptr : find(o.parent);
    return parent && covered(*parent, c);
  }

  template <class T>
  static bool among(const std::vector<T>& values, const T& value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
  }
  static bool in_scopes(const std::vector<scope_path>& scopes, const scope_path& s) {
    return scopes.empty() ||
           std::any_of(scopes.begin(), scopes.end(), [&](const auto& t) { return s.is_at_or_below(t); });
  }

  bool passes(const operation_filter& f, const operation_record& o) const {
    const bool live = o.hot.ended_seq == 0;
    if (live ? !f.want_live : !f.want_ended || !among(f.ended_statuses, o.hot.now)) return false;
    std::map<std::string, bool> labels;
    for (const auto& [key, value] : f.labels) labels[key] |= o.labels.contains(key) && o.labels.at(key) == value;
    for (const auto& [key, found] : labels)
      if (!found) return false;
    if (f.covered_by) {
      const auto c = std::find_if(cancels.begin(), cancels.end(), [&](const auto& x) { return x.id == *f.covered_by; });
      if (c == cancels.end() || !covered(o, *c)) return false;
    }
    return in_scopes(f.scopes, o.scope) && (!f.within || o.scope.is_at_or_below(*f.within)) &&
           (!f.within_operation || is_under(o.id, *f.within_operation)) && (!f.below || is_under(o.id, *f.below)) &&
           among(f.kinds, o.kind) && among(f.names, o.name) && among(f.owners, o.owner.id) &&
           (f.workers.empty() || (o.hot.worker && among(f.workers, *o.hot.worker))) &&
           (f.parents.empty() || (o.parent && among(f.parents, *o.parent))) && among(f.roots, o.root) &&
           (!f.since || o.created_at >= *f.since) && (!f.until || o.created_at < *f.until) &&
           (f.errors.empty() || (o.hot.error && among(f.errors, o.hot.error->code))) &&
           ((!f.ended_since && !f.ended_until) || !live) && (!f.ended_since || o.hot.ended_at >= *f.ended_since) &&
           (!f.ended_until || o.hot.ended_at < *f.ended_until);
  }

  bool passes(const cancel_filter& f, const cancel_record& c) const {
    std::optional<scope_path> place;
    if (const auto* t = std::get_if<target_operation>(&c.target)) place = find(t->id)->scope;
    if (const auto* t = std::get_if<target_scope>(&c.target)) place = t->scope;
    if (const auto* t = std::get_if<target_owner>(&c.target)) place = t->below;
    if (const auto* t = std::get_if<target_everything>(&c.target)) place = t->below;
    if (!f.scopes.empty() && (!place || !in_scopes(f.scopes, *place))) return false;
    if (f.within && (!place || !place->is_at_or_below(*f.within))) return false;
    if (f.operation && (!find(*f.operation) || !covered(*find(*f.operation), c))) return false;
    return (!f.only_open || c.status != cancel_status::settled) && (!f.status || c.status == *f.status) &&
           (!f.owner || c.by.id == *f.owner);
  }

  bool passes(const event_filter& f, const event_record& e) const {
    return (f.scopes.empty() || (e.scope && in_scopes(f.scopes, *e.scope))) &&
           (!f.within || (e.scope && e.scope->is_at_or_below(*f.within))) && (!f.has_types() || f.names(e)) &&
           (!f.below || is_under(e.operation, *f.below)) && (!f.up_to || e.id <= *f.up_to);
  }

  operation_filter operation_filter_at_random() {
    operation_filter f;
    const auto some_id = [&] { return chance(95) ? one_of(operations).id : operation_id::fresh(); };
    if (chance(30)) f.scopes.push_back(one_of(operations).scope);
    if (chance(10)) f.scopes.push_back(one_of(operations).scope);
    if (chance(15)) f.within = scope(one_of<std::string>({"team", "team/a", "x"}));
    if (chance(10)) f.within_operation = some_id();
    f.want_live = chance(80);
    f.want_ended = chance(80);
    if (chance(20)) f.ended_statuses.push_back(one_of<status>({status::completed, status::failed, status::cancelled}));
    if (chance(15)) f.kinds = {kind::turn, kind::tool_call};
    if (chance(15)) f.names.push_back("true");
    if (chance(20)) f.owners.push_back(one_of<std::string>({"alice", "bob", "nobody"}));
    if (chance(10)) f.owners.push_back("carol");
    if (chance(15)) f.workers.push_back("w1");
    if (chance(20)) f.labels.emplace_back("pr", "1");
    if (chance(15)) f.labels.emplace_back("pr", "2");
    if (chance(15)) f.labels.emplace_back("os", "1");
    if (chance(15)) f.parents.push_back(some_id());
    if (chance(15)) f.roots.push_back(some_id());
    if (chance(20)) f.below = some_id();
    if (chance(35) && !cancels.empty()) f.covered_by = chance(95) ? one_of(cancels).id : cancel_id::fresh();
    if (chance(10)) f.since = one_of(operations).created_at;
    if (chance(10)) f.until = one_of(operations).created_at;
    if (chance(15)) f.errors.push_back(one_of<std::string>({"error", "timeout", "nobody's"}));
    if (chance(10)) f.errors.push_back("worker_lost");
    if (chance(10)) f.ended_since = one_of(operations).hot.ended_at;
    if (chance(10)) f.ended_until = one_of(operations).hot.ended_at;
    f.ascending = chance(50);
    f.limit = static_cast<std::uint32_t>(1 + below(20));
    return f;
  }

  cancel_filter cancel_filter_at_random() {
    cancel_filter f;
    if (chance(30)) f.scopes.push_back(one_of(operations).scope);
    if (chance(20)) f.within = scope("team/a");
    f.only_open = chance(20);
    if (chance(20)) f.status = static_cast<cancel_status>(below(3));
    if (chance(50)) f.operation = one_of(operations).id;
    if (chance(20)) f.owner = "alice";
    f.ascending = chance(50);
    f.limit = static_cast<std::uint32_t>(1 + below(5));
    return f;
  }

  void write_to(store& s) {
    std::vector<entry> batch;
    for (const auto& o : operations) batch.push_back(put_operation{o});
    for (const auto& c : cancels) batch.push_back(put_cancel{c});
    for (const auto& e : events) batch.push_back(put_event{e});
    REQUIRE_FALSE(s.write(std::move(batch)));
  }
};

/// All pages of a list, concatenated.
template <class Record, class Filter, class Page, class Key>
std::vector<std::uint64_t> all_pages(Filter f, std::uint64_t Filter::*cursor, Page page, Key key) {
  std::vector<std::uint64_t> keys;
  while (true) {
    const result<std::vector<Record>> got = page(f);
    REQUIRE(got);
    REQUIRE(got->size() <= f.limit);
    for (const auto& record : *got) keys.push_back(key(record));
    if (got->size() < f.limit) return keys;
    f.*cursor = keys.back();
  }
}

template <class Record, class Filter, class Key>
std::vector<std::uint64_t> expected(const world& w, const std::vector<Record>& from, const Filter& f, bool ascending,
                                    Key key) {
  std::vector<std::uint64_t> keys;
  for (const auto& record : from)
    if (w.passes(f, record)) keys.push_back(key(record));
  if (!ascending) std::reverse(keys.begin(), keys.end());
  return keys;
}

constexpr auto by_seq = [](const auto& record) { return record.seq; };

} // namespace

TEST_CASE("every filter of every list gives what a look at all rows gives, page by page") {
  const auto seed = GENERATE(1U, 2U, 3U, std::random_device{}());
  INFO("seed " << seed);
  world w(seed);
  w.grow(120);
  temp_directory directory;
  store s(directory.path());
  w.write_to(s);
  auto reader = open_reader(directory.path());
  REQUIRE(reader);
  auto& q = **reader;
  std::size_t not_empty = 0;
  for (int i = 0; i < 400; ++i) {
    INFO("filter " << i);
    const auto f = w.operation_filter_at_random();
    const auto want = expected(w, w.operations, f, f.ascending, by_seq);
    not_empty += !want.empty();
    CHECK(all_pages<operation_record>(
              f, &operation_filter::after_seq, [&](const auto& x) { return q.operations(x); }, by_seq) == want);
  }
  CHECK(not_empty > 20);
  for (int i = 0; i < 200; ++i) {
    INFO("cancel filter " << i);
    const auto f = w.cancel_filter_at_random();
    CHECK(all_pages<cancel_record>(
              f, &cancel_filter::after_seq, [&](const auto& x) { return q.cancels(x); }, by_seq) ==
          expected(w, w.cancels, f, f.ascending, by_seq));
  }
  for (int i = 0; i < 100; ++i) {
    INFO("event filter " << i);
    event_filter f;
    if (w.chance(40)) f.scopes.push_back(w.one_of(w.operations).scope);
    if (w.chance(20)) f.within = scope("team");
    if (w.chance(40)) f.below = w.one_of(w.operations).id;
    if (w.chance(40)) f.types = {event_type::audit, event_type::operation_started};
    if (w.chance(20)) f.unlisted_types = {"of_another_version"};
    if (w.chance(40)) f.up_to = w.one_of(w.events).id;
    f.limit = static_cast<std::uint32_t>(1 + w.below(20));
    const auto by_id = [](const auto& e) { return e.id; };
    CHECK(all_pages<event_record>(
              f, &event_filter::after, [&](const auto& x) { return q.events(x); }, by_id) ==
          expected(w, w.events, f, true, by_id));
  }
  for (int i = 0; i < 100; ++i) {
    const auto &a = w.one_of(w.operations), &b = w.one_of(w.operations);
    CHECK(q.is_below(a.id, b.id).value() == w.is_under(a.id, b.id));
  }
  CHECK(integrity(directory.path()) == "ok");
}

TEST_CASE("a walk along the table gives the same as a way in by an index") {
  const auto seed = GENERATE(7U, std::random_device{}());
  INFO("seed " << seed);
  world w(seed);
  w.grow(100);
  temp_directory directory;
  store s(directory.path());
  w.write_to(s);
  SQLite::Database database(directory / "quell.db", SQLite::OPEN_READONLY);
  set_up_reader(database);
  statement_cache statements(database);
  for (int i = 0; i < 300; ++i) {
    INFO("filter " << i);
    const auto f = w.operation_filter_at_random();
    std::optional<cancel_record> covering;
    for (const auto& c : w.cancels)
      if (f.covered_by == c.id) covering = c;
    if (f.covered_by && !covering) continue;
    auto search = search_for(f, covering);
    REQUIRE(search);
    const auto by_index = find(statements, *search);
    for (const std::size_t most : {0U, 5U}) {
      search->most_candidates = most;
      CHECK(find(statements, *search) == by_index);
    }
    const auto c = w.cancel_filter_at_random();
    auto cancels = search_for(c);
    REQUIRE(cancels);
    const auto cancels_by_index = find(statements, *cancels);
    cancels->most_candidates = 0;
    CHECK(find(statements, *cancels) == cancels_by_index);
  }
}
