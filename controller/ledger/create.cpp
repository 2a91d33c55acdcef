// A create: all checks that can refuse it, in the order in which a caller must learn of them, then one row.
#include <algorithm>

#include "controller/json/instant.hpp"
#include "controller/ledger/live_ledger.hpp"
#include "controller/ledger/sentences.hpp"

namespace quell::controller::live {

namespace {

tl::unexpected<refusal> refuse(refusal r) { return tl::unexpected<refusal>(std::move(r)); }

refusal because(error_code code, std::string detail, std::string pointer = {}) {
  return {coded_fault{code, std::move(detail), std::move(pointer)}, {}, {}};
}

} // namespace

refusal live_ledger::stale_by(const cancel_id& id, const records::cancel_target& target, std::uint64_t seq) const {
  records::cancel_record record;
  if (const auto* known = runs_.record_of(id)) {
    record = *known;
  } else { // settled long ago: the row has the other facts
    record.id = id;
    record.seq = seq;
    record.target = target;
  }
  refusal r = because(error_code::stale_start, stale_sentence(record));
  r.cancel = std::move(record);
  return r;
}

refusal live_ledger::stale(const std::optional<found_stop>& stop, const std::string& otherwise) const {
  if (stop && stop->cancel) return stale_by(*stop->cancel, records::target_scope{}, stop->seq);
  std::string why = otherwise;
  if (stop) why += " (" + std::string(name_of(stop->cause)) + ")";
  return because(error_code::stale_start, why + ". Nothing was started.");
}

std::optional<refusal> live_ledger::refuse_id(const create_order& order, const std::optional<scope_path>& scope,
                                              moment now) const {
  if (const auto* grave = tombstones_.find(*order.id)) {
    const auto& within = grave->within;
    if (!within || !scope || scope->is_at_or_below(*within))
      return stale_by(grave->cancel, records::target_operation{*order.id}, 0);
  }
  const auto off = order.id->time() - now.wall;
  if (off > id_window || off < -id_window)
    return because(error_code::bad_id,
                   "the id " + order.id->text() + " carries the time " + http::instant_text(order.id->time()) +
                       ", more than 12 h from now; make a fresh UUIDv7",
                   "/id");
  return std::nullopt;
}

std::optional<refusal> live_ledger::refuse_parent(const operation_id& id) const {
  const index parent = find(id);
  if (parent == none) {
    const ended_trace* trace = recent_.find(id);
    if (trace == nullptr)
      return because(error_code::operation_not_found, "there is no operation " + id.text(), "/parent");
    if (trace->as != status::cancelled) {
      refusal r = because(error_code::parent_ended,
                          "the parent " + id.text() + " has ended (" + std::string(name_of(trace->as)) +
                              "); start the work without a parent or below a live one",
                          "/parent");
      r.operation = id;
      return r;
    }
    found_stop stop{0, trace->cause.value_or(stop_cause::cancel), std::nullopt};
    if (trace->has_cancel) stop.cancel = trace->cancel;
    return stale(stop, "the parent " + id.text() + " was stopped");
  }
  if (const auto stop = stop_of(parent)) return stale(stop, "the parent " + id.text() + " is being stopped");
  if (!operations_[parent].is_over()) return std::nullopt;
  refusal r =
      because(error_code::parent_ended,
              "the parent " + id.text() + " has ended its own work (" +
                  std::string(name_of(operations_[parent].self_status)) + ") and waits only for what it has started",
              "/parent");
  r.operation = id;
  return r;
}

std::optional<refusal> live_ledger::refuse_scope(const create_order& order, const scope_path& scope) const {
  if (order.by.prefix && !scope.is_at_or_below(*order.by.prefix))
    return because(error_code::scope_forbidden,
                   "scope " + scope.text() + " lies outside " + order.by.prefix->text() +
                       ", which this token is for; name a scope at or below it",
                   "/scope");
  if (!order.as_of_seq) return std::nullopt;
  // Starts at the nearest known scope above: a scope outside the tree has no cutoff.
  for (std::optional<scope_path> at = scope; at; at = at->parent()) {
    const index known = scopes_.find(at->text());
    if (known == none || scopes_[known].cutoff < *order.as_of_seq || scopes_[known].cutoff == 0) continue;
    return stale_by(scopes_[known].cutoff_cancel, records::target_scope{*at}, scopes_[known].cutoff);
  }
  return std::nullopt;
}

std::optional<refusal> live_ledger::refuse_size(index parent) const {
  if (operations_.size() >= settings_.max_live_operations)
    return because(error_code::too_many_operations,
                   std::to_string(operations_.size()) +
                       " operations are live, which is the limit; wait until some have ended");
  if (parent == none) return std::nullopt;
  const operation_node& p = operations_[parent];
  if (p.depth >= settings_.max_depth)
    return because(error_code::invalid_field,
                   "the parent is " + std::to_string(p.depth) + " levels deep, which is the limit", "/parent");
  if (p.children >= settings_.max_children)
    return because(error_code::too_many_operations,
                   "the parent has " + std::to_string(p.children) + " live children, which is the limit", "/parent");
  return std::nullopt;
}

std::optional<refusal> live_ledger::refuse_share(const create_order& order, const scope_path& scope,
                                                 std::string_view via) const {
  // An exchange is the ear for a spoken stop, which is never refused for load.
  if (order.kind == quell::kind::exchange) return std::nullopt;
  const auto& author = order.owner ? order.owner->id : order.by.owner.id;
  if (const auto open = runs_.open_over(scope, author); open >= most_cancels_over_a_start)
    return because(error_code::too_many_operations,
                   std::to_string(open) + " cancels of scope " + scope.text() +
                       ", or of what includes it, have not settled, which is the limit for what is to start there; "
                       "wait until some have",
                   "/scope");
  const auto full = [](const std::string& whose, std::size_t count, const std::string& what, const char* key) {
    return because(error_code::too_many_operations, whose + " has " + std::to_string(count) + " live " + what +
                                                        ", which is its limit (limits." + key +
                                                        "); wait until some have ended, or cancel some");
  };
  const bool is_turn = order.kind == quell::kind::turn;
  if (has_share(via)) {
    const auto most = settings_.max_live_per_token, live = operations_.started_with(std::string(via));
    const auto most_turns = settings_.max_turns_per_token;
    const auto turns = is_turn ? operations_.turns_started_with(std::string(via)) : 0;
    const auto whose = [&] {
      return takes_share_of_parent(order.by) ? "the token that this work was started with"
                                             : "token " + order.by.token_name;
    };
    if (most > 0 && live >= most) return full(whose(), live, "operations", "operations_per_token");
    if (is_turn && most_turns > 0 && turns >= most_turns) return full(whose(), turns, "turns", "turns_per_token");
  }
  const auto theirs = operations_.share_of(std::string(via), author);
  const auto most = settings_.max_live_per_author, most_turns = settings_.max_turns_per_author;
  if (most > 0 && theirs.live >= most)
    return full("author " + author, theirs.live, "operations", "operations_per_author");
  if (is_turn && most_turns > 0 && theirs.turns >= most_turns)
    return full("author " + author, theirs.turns, "turns", "turns_per_author");
  const auto most_here = settings_.max_live_per_scope, most_turns_here = is_turn ? settings_.max_turns_per_scope : 0;
  if (most_here == 0 && most_turns_here == 0) return std::nullopt;
  for (std::optional<scope_path> at = scope; at; at = at->parent()) {
    const index known = scopes_.find(at->text());
    if (known == none) continue;
    const scope_node& here = scopes_[known];
    if (most_here > 0 && here.live >= most_here)
      return full("scope " + at->text(), here.live, "operations", "operations_per_scope");
    if (most_turns_here > 0 && here.turns >= most_turns_here)
      return full("scope " + at->text(), here.turns, "turns", "turns_per_scope");
  }
  return std::nullopt;
}

outcome<std::vector<index>> live_ledger::superseded_by(const create_order& order, const scope_path& scope,
                                                       index parent) const {
  if (!order.supersede) return std::vector<index>{};
  const index known = scopes_.find(scope.text());
  const auto* older = known == none ? nullptr : operations_.with_key(known, *order.supersede);
  if (older == nullptr) return std::vector<index>{};
  const bool hangs_on_parent = order.on_parent_end != on_parent_end::detach;
  for (const index x : *older) {
    bool is_above = false;
    for (index at = hangs_on_parent ? parent : none; at != none && !is_above; at = operation_parent(at))
      is_above = at == x;
    if (is_above)
      return refuse(because(error_code::invalid_field,
                            "the key belongs to " + operations_[x].id.text() +
                                ", above the new operation, which would stop itself; use another key",
                            "/supersede"));
    const index own = order.by.task ? find(*order.by.task) : none;
    if (order.by.task && (own == none || !operations_.is_below(x, own)))
      return refuse(because(error_code::forbidden,
                            "the key belongs to an operation that is not below this task's own; use another key",
                            "/supersede"));
  }
  return *older;
}

outcome<created> live_ledger::create(const create_order& order, operation_id fresh, moment now) {
  std::optional<operation_id> parent_id = order.parent;
  if (order.by.task && !parent_id) parent_id = order.by.task;
  const index known_parent = parent_id ? find(*parent_id) : none;
  std::optional<scope_path> scope = order.scope;
  if (!scope && known_parent != none) scope = scopes_[operations_[known_parent].scope].path;
  if (!scope) scope = scope_path{};

  if (order.id) {
    const std::uint64_t print = fingerprint_hash(order.fingerprint);
    const index existing = find(*order.id);
    const ended_trace* trace = recent_.find(*order.id);
    if (existing != none || trace != nullptr) {
      if ((existing != none ? operations_[existing].fingerprint : trace->fingerprint) == print)
        return created{*order.id, true};
      return refuse(because(error_code::id_conflict,
                            "operation " + order.id->text() + " exists already with another body; choose a fresh id",
                            "/id"));
    }
    if (auto r = refuse_id(order, scope, now)) return refuse(std::move(*r));
  }
  if (parent_id) {
    if (known_parent != none && !sees(order.by, known_parent))
      return refuse(because(error_code::operation_not_found, "there is no operation " + parent_id->text(), "/parent"));
    if (auto r = refuse_parent(*parent_id)) return refuse(std::move(*r));
    const scope_path& above = scopes_[operations_[known_parent].scope].path;
    if (!scope->is_at_or_below(above))
      return refuse(because(error_code::scope_outside_parent,
                            "scope " + scope->text() + " is not at or below the parent's, " + above.text(), "/scope"));
  }
  if (order.by.task && order.on_parent_end == on_parent_end::detach)
    return refuse(
        because(error_code::forbidden, "a task may not detach what it starts; use cancel or wait", "/on_parent_end"));
  if (auto r = refuse_scope(order, *scope)) return refuse(std::move(*r));
  if (auto r = refuse_size(known_parent)) return refuse(std::move(*r));
  const std::string token =
      known_parent != none && takes_share_of_parent(order.by) ? operations_.token_of(known_parent) : order.by.token_id;
  if (auto r = refuse_share(order, *scope, token)) return refuse(std::move(*r));
  if (auto r = refuse_budget(order, *scope, now)) return refuse(std::move(*r));
  auto older = superseded_by(order, *scope, known_parent);
  if (!older) return refuse(std::move(older.error()));
  if (!older->empty()) stop_operations(*older, stop_cause::superseded, now);

  records::operation_record r;
  r.id = order.id.value_or(fresh);
  r.seq = take_seq();
  r.as_of = std::min(order.as_of_seq.value_or(r.seq), r.seq);
  r.kind = order.kind;
  r.name = order.name;
  r.title = order.title;
  r.scope = *scope;
  r.parent = parent_id;
  r.detached = parent_id && order.on_parent_end == on_parent_end::detach;
  r.owner = order.owner.value_or(order.by.owner);
  r.via_token_id = token;
  r.labels = order.labels;
  r.supersede = order.supersede;
  r.timeout = order.timeout.value_or(milliseconds{0});
  r.grace = order.grace.value_or(settings_.default_grace);
  r.on_parent_end = order.on_parent_end;
  r.created_at = now.wall;
  r.task = order.task;
  r.kind_data = order.kind == quell::kind::external ? external_block(order.external) : order.kind_data;
  r.fingerprint = order.fingerprint;
  const index x = add_operation(r);
  if (operations_[x].external) begin_lease(x, now.boot + operations_[x].external->lease);
  index root = x;
  while (operation_parent(root) != none) root = operation_parent(root);
  r.root = operations_[root].id;
  fresh_row_ = effects_.journal.size();
  effects_.journal.emplace_back(records::put_operation{std::move(r)});
  if (order.call) {
    records::call_record call = *order.call;
    call.operation = operations_[x].id;
    effects_.journal.emplace_back(records::put_call{std::move(call)});
  }
  write_event(event_type::operation_created, x, now);

  if (order.supersede && operations_.with_key(operations_[x].scope, *order.supersede)->size() > 1) {
    enter_phase(x, phase::behind_older);
    operations_.wait_for(x, {"start", "waits for the end of what it supersedes"});
  }
  if (order.start == start_when::later)
    note_waiting(operations_[x].id, "turn", "waits for its turn", now);
  else if (operations_[x].phase != phase::behind_older)
    begin_at_once(x, now);
  created made{operations_[x].id};
  if (order.is_shown) {
    made.shown = std::make_shared<new_operation>();
    made.shown->row = *std::get<records::put_operation>(effects_.journal[*fresh_row_]).record;
  }
  fresh_row_.reset();
  return made;
}

void live_ledger::begin_at_once(index x, moment now) {
  if (operations_[x].kind == quell::kind::task)
    offer(x);
  else if (operations_[x].external && operations_[x].external->start == start_when::later)
    note_waiting(operations_[x].id, "start", "waits for its owner to start it", now);
  else
    begin(x, now.wall, now);
}

} // namespace quell::controller::live
