// POST /v1/cancels and POST /v1/operations/{id}/cancel: from the request to the fence on the shortest way.
#include <algorithm>

#include "gateway/cancel_perform.hpp"
#include "gateway/presenter.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

void check_rights(exchange& x, cancel_order& order) {
  need(x, right::cancel);
  auto& target = order.target;
  if (std::holds_alternative<records::target_everything>(target)) {
    need(x, right::cancel_everything);
    target = records::target_everything{x.who.prefix};
  }
  if (x.who.task && !std::holds_alternative<records::target_operation>(target))
    throw problem{.code = error_code::forbidden,
                  .detail = "a task's token may cancel operations below its own only, one by one; name an /operation"};
  if (const auto* scope = std::get_if<records::target_scope>(&target)) need_scope(x, scope->scope);
  if (auto* owner = std::get_if<records::target_owner>(&target)) {
    if (owner->below)
      need_scope(x, *owner->below);
    else
      owner->below = x.who.prefix;
  }
}

/// A cancel of finished work records nothing, and the cancel that stopped that work had another target. So the answer
/// has this target and this caller's reason, with nothing covered. A client-chosen id is recorded, so that it can be
/// read and repeated.
awaitable<response> already_finished(exchange& x, cancel_order order) {
  auto& gw = x.gw;
  if (order.id && !order.is_dry_run()) {
    order.has_ended = true;
    auto kept = co_await order_cancel(gw, std::move(order));
    if (!kept) throw from_refusal(kept.error());
    co_return co_await answer_performed(x, {}, std::move(*kept));
  }
  cancel_view view;
  view.record.target = order.target;
  view.record.reason = order.reason;
  view.record.by = order.by.value_or(x.who.owner);
  view.record.via_channel = order.via_channel;
  view.record.via_token = x.who.token_name;
  view.record.via_token_id = x.who.token_id;
  view.record.grace = order.grace;
  view.record.up_to_seq = order.up_to_seq;
  view.record.status = cancel_status::settled;
  view.proven = true;
  view.record.outcome = cancel_outcome::already_finished;
  if (order.is_dry_run()) co_return json_answer(dry_run_json(view, {}));
  json_writer to;
  write_cancel(to, view, max_unproven_listed, recorded::no);
  co_return json_answer(to.take());
}

/// Answers a cancel with a client-chosen id that is already in the store.
awaitable<std::optional<response>> repeated(exchange& x, const cancel_order& order) {
  auto known = co_await find_cancel(x.gw, *order.id, lane::urgent);
  if (!known) co_return std::nullopt;
  const bool visible = co_await sees(x, known->record);
  if (!visible || known->record.fingerprint != order.fingerprint)
    throw problem{.code = error_code::id_conflict,
                  .detail = "the id " + order.id->text() +
                            " belongs to another cancel; choose a fresh id, or send the same body"};
  const auto status_code = cancel_http_status(*known);
  auto text = co_await cancel_text(x.gw, std::move(*known), max_unproven_listed);
  co_return json_answer(std::move(text), status_code);
}

/// An id names one object: a cancel must not have the id of an operation, not even of a future one.
awaitable<> check_own_id(exchange& x, const cancel_order& order) {
  const operation_id same{order.id->bytes};
  const auto* target = std::get_if<records::target_operation>(&order.target);
  if (target && target->id == same)
    throw from_errors(
        {{error_code::bad_id, "/id", "is the id of the operation to cancel; the cancel needs one of its own"}});
  const auto taken = co_await find_row(x.gw, same, lane::urgent);
  if (taken)
    throw problem{.code = error_code::id_conflict,
                  .detail =
                      "the id " + order.id->text() + " belongs to an operation; every object has an id of its own"};
}

awaitable<response> dry_run(exchange& x, cancel_view view) {
  auto& gw = x.gw;
  const auto ids = view.would_stop;
  auto job = [ids](store_reader& q) -> result<std::vector<records::operation_record>> {
    std::vector<records::operation_record> found;
    for (const auto& id : ids) {
      auto row = q.operation(id);
      if (!row) return tl::unexpected(row.error());
      if (*row) found.push_back(std::move(**row));
    }
    return found;
  };
  auto rows = co_await gw.read<std::vector<records::operation_record>>(job);
  const auto shown = co_await present(gw, std::move(rows));
  co_return json_answer(dry_run_json(view, shown));
}

/// Asks the ledger first, which knows all live operations and checks whether the caller sees the target: such a cancel
/// waits for no read of the store. Nullopt: the target is not live.
awaitable<std::optional<response>> cancel_live(exchange& x, cancel_request& requested) {
  auto& gw = x.gw;
  const bool is_of_one = std::holds_alternative<records::target_operation>(requested.order.target);
  const bool is_dry_run = requested.order.is_dry_run();
  // Only a cancel of one operation is tried again, by `cancel_absent`.
  auto order = is_of_one ? requested.order : std::move(requested.order);
  auto answered = co_await order_cancel(gw, std::move(order), service::may_target::live_target);
  if (!answered) {
    if (!is_of_one || answered.error().error.code != error_code::operation_not_found)
      throw from_refusal(answered.error());
    co_return std::nullopt;
  }
  if (is_dry_run) co_return co_await dry_run(x, std::move(*answered));
  co_return co_await answer_performed(x, requested.until, std::move(*answered));
}

/// Cancels a target that is not live: it has ended, or never existed.
awaitable<response> cancel_absent(exchange& x, cancel_request requested, operation_id id) {
  auto& gw = x.gw;
  auto& order = requested.order;
  auto row = co_await find_row(gw, id, lane::urgent);
  if (!row && order.must_exist()) throw no_such_operation(id);
  const bool visible = row && co_await sees(x, *row);
  // A dry run must not reveal other callers' operations: for the ledger, too, the target does not exist.
  const bool is_hidden = row && !visible && order.is_dry_run() && !order.must_exist() && !x.who.task;
  if (row && !visible && !is_hidden) throw no_such_operation(id);
  if (visible) {
    if (x.who.task == row->id)
      throw problem{.code = error_code::forbidden,
                    .detail = "a task's token may cancel what is below its operation, not the operation itself"};
    if (is_terminal(row->hot.now)) co_return co_await already_finished(x, order);
    order.if_unknown = unknown_id::is_refused; // it ended between the two checks: that must not leave a tombstone
  }
  auto answered = co_await order_cancel(gw, order);
  if (!answered) {
    if (answered.error().error.code == error_code::operation_not_found) {
      row = co_await find_row(gw, id, lane::urgent);
      if (row && is_terminal(row->hot.now)) co_return co_await already_finished(x, order);
    }
    throw from_refusal(answered.error());
  }
  if (order.is_dry_run()) co_return co_await dry_run(x, std::move(*answered));
  co_return co_await answer_performed(x, requested.until, std::move(*answered));
}

awaitable<response> perform(exchange& x, cancel_request requested) {
  auto& order = requested.order;
  check_rights(x, order);
  order.by_token = x.who;
  order.via_channel = channel_of(x.req);
  order.received = x.req.received;
  if (order.id && !order.is_dry_run()) {
    auto repeat = co_await repeated(x, order);
    if (repeat) co_return std::move(*repeat);
    co_await check_own_id(x, order);
  }
  auto done = co_await cancel_live(x, requested);
  if (done) co_return std::move(*done);
  const auto id = std::get<records::target_operation>(order.target).id;
  co_return co_await cancel_absent(x, std::move(requested), id);
}

} // namespace

awaitable<response> create_cancel(exchange& x) {
  auto requested = value_or_throw(read_cancel(x.req.body));
  co_return co_await perform(x, std::move(requested));
}

awaitable<response> cancel_operation(exchange& x) {
  const auto id = path_id<operation_id>(x);
  auto requested = value_or_throw(read_cancel_of(id, x.req.body));
  co_return co_await perform(x, std::move(requested));
}

} // namespace quell::controller::http
