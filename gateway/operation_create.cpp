// POST /v1/operations.
#include "gateway/operation_create.hpp"

#include <openssl/crypto.h>

#include <algorithm>

#include "gateway/external_json.hpp"
#include "gateway/operation_body.hpp"
#include "gateway/presenter.hpp"
#include "gateway/recent_instant.hpp"
#include "gateway/rights.hpp"
#include "gateway/sealed_secret.hpp"
#include "gateway/task_confinement.hpp"
#include "protocol/encoding.hpp"
#include "protocol/sha256.hpp"

namespace quell::controller::http {

namespace {

/// Scopes below `quell` are for quell's own work (MCP servers); operations that such work starts inherit its scope.
void keep_out_of_reserved(const exchange& x, const create_order& order) {
  if (order.scope && !x.who.task) need_unreserved(*order.scope);
}

/// Fills in the fields that the create leaves open.
void fill_in_defaults(const exchange& x, create_order& order) {
  if (!order.scope && !order.parent && !x.who.task) order.scope = x.gw.options.default_scope;
  if (!order.timeout) order.timeout = x.gw.options.default_timeout;
}

/// Seals the secrets; equal secrets give the same fingerprint.
void seal_secrets(const exchange& x, create_order& order) {
  if (order.task.secrets.empty()) return;
  const auto& key = x.gw.options.task_token_key;
  std::string all = order.fingerprint;
  for (auto& [name, contents] : order.task.secrets) {
    all += "\n" + name + "=" + sha256_hex(contents);
    auto sealed = seal_secret(key, name, contents);
    if (!sealed)
      throw problem{.code = error_code::internal,
                    .detail = "the secrets cannot be sealed: this machine gives no random bytes"};
    OPENSSL_cleanse(contents.data(), contents.size());
    contents = std::move(*sealed);
  }
  order.fingerprint = sha256_hex(hmac_sha256(key, all));
}

void check_rights(exchange& x, create_order& order) {
  need(x, order.kind == kind::external ? right::create_external : right::create_task);
  keep_out_of_reserved(x, order);
  if (order.owner && *order.owner != x.who.owner) need_to_act_for_others(x, "/owner");
  if (x.who.task) return;
  if (order.scope)
    need_scope(x, *order.scope);
  else if (!order.parent)
    need_scope(x, scope_path{});
}

/// Checks an id that is already in the store, ended or not; the ledger knows only live ones.
void check_existing(const records::operation_record& row, bool visible, const create_order& order) {
  if (!visible)
    throw problem{.code = error_code::id_conflict,
                  .detail = "the id " + row.id.text() + " is taken; choose a fresh one"};
  if (row.fingerprint == order.fingerprint) return;
  throw problem{.code = error_code::id_conflict,
                .detail = "the id " + row.id.text() + " belongs to another operation (" + row.name + " in scope " +
                          row.scope.text() + ", created " + instant_text(row.created_at) +
                          "); choose a fresh id, or send the same body"};
}

/// The ledger knows only live parents; for an ended one this gives the reason of its end.
awaitable<std::optional<problem>> explain_missing_parent(exchange& x, operation_id parent) {
  const auto row = co_await find_row(x.gw, parent);
  if (!row || !is_terminal(row->hot.now)) co_return std::nullopt;
  const bool visible = co_await sees(x, *row);
  if (!visible) co_return std::nullopt;
  if (row->hot.now != status::cancelled)
    co_return problem{.code = error_code::parent_ended,
                      .detail = "the parent " + parent.text() + " is " + std::string(name_of(row->hot.now)) +
                                " since " + (row->hot.ended_at ? instant_text(*row->hot.ended_at) : "a while") +
                                ". Nothing was started: leave out /parent or name a live one."};
  problem stale{.code = error_code::stale_start,
                .detail = "the parent " + parent.text() + " was cancelled. Nothing was started."};
  if (row->hot.stop && row->hot.stop->cancel) {
    const auto cancel = co_await find_cancel(x.gw, *row->hot.stop->cancel);
    if (cancel) {
      stale.cancel = cancel->record;
      stale.detail = "the parent " + parent.text() + " was cancelled at " + instant_text(cancel->record.created_at) +
                     " by " + cancel->record.by.name +
                     (cancel->record.reason.empty() ? "" : ": " + cancel->record.reason) + ". Nothing was started.";
    }
  }
  co_return stale;
}

/// For the scope in which it is to be: its parent's, if it names none.
awaitable<> count_bytes(exchange& x, const create_order& order) {
  if (!x.gw.options.bytes) co_return;
  const auto& author = order.owner ? order.owner->id : x.who.owner.id;
  if (order.scope || !order.parent) co_return x.bring(order.scope.value_or(x.gw.options.default_scope), author);
  const auto* task = x.who.task ? x.gw.task_owners.find(*x.who.task) : nullptr;
  if (task && order.parent == x.who.task) co_return x.bring(task->scope, author);
  const auto parent = co_await find_row(x.gw, *order.parent);
  const bool may = parent && co_await sees(x, *parent);
  if (may) x.bring(parent->scope, author); // else the ledger refuses it
}

} // namespace

awaitable<known_ids> look_up(gateway_context& gw, std::vector<operation_id> ids) {
  if (ids.empty()) co_return known_ids{};
  auto job = [ids](store_reader& q) -> result<known_ids> {
    known_ids known;
    for (const auto& id : ids) {
      auto row = q.operation(id);
      if (!row) return tl::unexpected(row.error());
      if (*row) known.operations.emplace(id, std::move(**row));
      auto cancel = q.cancel(cancel_id{id.bytes});
      if (!cancel) return tl::unexpected(cancel.error());
      if (*cancel) known.cancels.insert(id);
    }
    return known;
  };
  co_return co_await gw.read<known_ids>(job);
}

awaitable<std::optional<records::operation_record>> check_create(exchange& x, create_order& order,
                                                                 const known_ids& known) {
  auto& gw = x.gw;
  seal_secrets(x, order);
  fill_in_defaults(x, order);
  check_rights(x, order);
  if (x.who.task) co_await confine_to_task(x, order);
  order.by = x.who;
  if (order.id) {
    if (const auto at = known.operations.find(*order.id); at != known.operations.end()) {
      const bool visible = co_await sees(x, at->second);
      check_existing(at->second, visible, order);
      co_return at->second;
    }
    if (known.cancels.contains(*order.id))
      throw problem{.code = error_code::id_conflict,
                    .detail = "the id " + order.id->text() + " belongs to a cancel; every object has an id of its own"};
    need_recent_instant(order.id->time());
  }
  if (gw.controller.storage_low())
    throw problem{
        .code = error_code::storage_unavailable,
        .detail =
            "the state directory is low on space, so nothing new is started; free some space (cancels still work)",
        .headers = {{"Retry-After", "5"}}};
  co_await count_bytes(x, order);
  if (x.who.task && order.kind == kind::task) co_await keep_confinement(x, order);
  if (order.task.worker) {
    const auto name = *order.task.worker;
    auto call = [&gw, name](auto reply) { gw.controller.worker(name, std::move(reply)); };
    const auto worker = co_await gw.answer<std::optional<worker_view>>(call);
    if (!worker)
      throw problem{.code = error_code::no_such_worker,
                    .detail = "there is no worker " + name + "; `quell workers` lists them. Nothing was started.",
                    .errors = {{error_code::no_such_worker, "/task/worker", "names an unknown worker"}}};
  }
  co_return std::nullopt;
}

awaitable<problem> explain_refusal(exchange& x, refusal refused, std::optional<operation_id> parent) {
  if (parent && (refused.error.code == error_code::stale_start || refused.error.code == error_code::parent_ended)) {
    // The ledger remembers how a parent ended, but not who may see it: an operation invisible to the token must look
    // absent.
    const auto row = co_await find_row(x.gw, *parent);
    const bool is_hidden = row && !co_await sees(x, *row);
    if (is_hidden)
      refused = {
          coded_fault{error_code::operation_not_found, "there is no operation " + parent->text(), "/parent"}, {}, {}};
    if (is_hidden) co_return from_refusal(refused);
  }
  if (parent && refused.error.code == error_code::operation_not_found) {
    auto why = co_await explain_missing_parent(x, *parent);
    if (why) co_return std::move(*why);
  }
  co_return from_refusal(refused);
}

std::optional<shown_operation> as_created(created& made) {
  if (!made.shown || made.shown->view.hot.stop || is_terminal(made.shown->view.hot.now)) return std::nullopt;
  shown_operation op{.row = std::move(made.shown->row),
                     .waiting = {},
                     .unreachable_since = {},
                     .dead_by = {},
                     .stop_reason = {},
                     .stop_by = {},
                     .kind_data = {}};
  overlay(op, made.shown->view);
  return op;
}

/// The JSON of an operation that is on disk.
static awaitable<std::string> text_of_stored(gateway_context& gw, operation_id id) {
  auto row = co_await find_row(gw, id);
  if (!row)
    throw problem{.code = error_code::internal,
                  .detail = "the operation " + id.text() + " was accepted, but its row cannot be read"};
  const auto shown = co_await present_one(gw, std::move(*row));
  co_return operation_text(gw, shown);
}

awaitable<response> create_operation(exchange& x) {
  auto& gw = x.gw;
  auto order = co_await checked_body(x, read_create);
  std::vector<operation_id> chosen;
  if (order.id) chosen.push_back(*order.id);
  const auto known = co_await look_up(gw, std::move(chosen));
  auto same = co_await check_create(x, order, known);
  if (same && x.req.wants_minimal()) co_return minimal_answer(same->id, 200);
  if (same) {
    const auto shown = co_await present_one(gw, std::move(*same));
    co_return json_answer(operation_text(gw, shown));
  }
  const auto parent = order.parent;
  const auto title = order.title;
  const bool is_minimal = x.req.wants_minimal();
  order.is_shown = !is_minimal && order.kind == kind::external; // a task is placed after its commit
  auto outcome_of_it = co_await gw.answer<outcome<created>>(
      [&gw, &order](auto reply) { gw.controller.create(std::move(order), std::move(reply)); });
  if (!outcome_of_it) {
    auto why = co_await explain_refusal(x, outcome_of_it.error(), parent);
    throw why;
  }
  gw.titles.put(outcome_of_it->id, title);
  const unsigned status_code = outcome_of_it->existed ? 200 : 201;
  response answer;
  if (is_minimal) {
    answer = minimal_answer(outcome_of_it->id, status_code);
  } else if (auto shown = as_created(*outcome_of_it)) {
    answer = json_answer(operation_text(gw, *shown), status_code);
  } else {
    auto text = co_await text_of_stored(gw, outcome_of_it->id);
    answer = json_answer(std::move(text), status_code);
  }
  answer.headers.emplace_back("Location", "/v1/operations/" + outcome_of_it->id.text());
  co_return answer;
}

} // namespace quell::controller::http
