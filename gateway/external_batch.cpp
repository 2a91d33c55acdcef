// POST /v1/operations/batch: many creates in one commit, each with its own answer, in order.
#include "gateway/external_json.hpp"
#include "gateway/operation_body.hpp"
#include "gateway/operation_create.hpp"
#include "gateway/rights.hpp"

namespace quell::controller::http {

namespace {

/// The answer if it is known without the controller; nullopt: the controller must be asked.
awaitable<std::optional<item_answer>> check_item(exchange& x, create_order& order, const known_ids& known,
                                                 std::vector<records::operation_record>& repeated) {
  std::optional<item_answer> answer;
  try {
    auto same = co_await check_create(x, order, known);
    if (same) {
      answer.emplace(); // its row is added with the others
      repeated.push_back(std::move(*same));
    }
  } catch (problem& p) {
    answer = refused(std::move(p));
  }
  co_return answer;
}

} // namespace

awaitable<response> create_batch(exchange& x) {
  auto& gw = x.gw;
  need(x, right::create_external);
  auto items = co_await checked_body(x, read_creates);
  x.charge(items.empty() ? 0 : items.size() - 1);
  if (!items.empty()) x.body_bytes /= items.size();
  std::vector<operation_id> chosen;
  for (const auto& item : items)
    if (item && item->id) chosen.push_back(*item->id);
  const auto known = co_await look_up(gw, std::move(chosen));
  const bool is_minimal = x.req.wants_minimal();

  std::vector<item_answer> answers(items.size());
  std::vector<std::optional<operation_id>> shown_as(items.size()); // the operations whose rows are the answers
  std::vector<create_order> orders;
  std::vector<std::size_t> place; // the index of each order's item
  std::vector<records::operation_record> rows;
  std::vector<shown_operation> shown_at_once; // new ones, which are not read back
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i]) {
      answers[i] = refused(std::move(items[i].error()));
      continue;
    }
    const auto id = items[i]->id;
    auto settled = co_await check_item(x, *items[i], known, rows);
    if (!settled) {
      place.push_back(i);
      orders.push_back(std::move(*items[i]));
      orders.back().is_shown = !is_minimal && orders.back().kind == kind::external;
      continue;
    }
    answers[i] = std::move(*settled);
    if (answers[i].error) continue;
    if (is_minimal)
      answers[i] = named_only(*id, 200);
    else
      shown_as[i] = id;
  }

  if (!orders.empty()) {
    std::vector<std::optional<operation_id>> parents;
    std::vector<std::string> titles;
    for (const auto& order : orders) {
      parents.push_back(order.parent);
      titles.push_back(order.title);
    }
    auto call = [&gw, &orders](auto reply) { gw.controller.create_many(std::move(orders), std::move(reply)); };
    auto made = co_await gw.answer<std::vector<outcome<created>>>(call);
    shown_at_once.reserve(made.size());
    std::vector<operation_id> fresh;
    for (std::size_t i = 0; i < place.size() && i < made.size(); ++i) {
      auto& answer = answers[place[i]];
      if (!made[i]) {
        auto why = co_await explain_refusal(x, made[i].error(), parents[i]);
        answer = refused(std::move(why));
        continue;
      }
      answer.status = made[i]->existed ? 200 : 201;
      gw.titles.put(made[i]->id, titles[i]);
      if (is_minimal) {
        answer.id = made[i]->id;
        continue;
      }
      shown_as[place[i]] = made[i]->id;
      if (auto op = as_created(*made[i]))
        shown_at_once.push_back(std::move(*op));
      else
        fresh.push_back(made[i]->id);
    }
    auto read = co_await find_rows(gw, std::move(fresh));
    for (auto& row : read) rows.push_back(std::move(row));
  }
  if (is_minimal) co_return with_preference(json_answer(results_json(gw, answers, x.req.id)));
  auto shown = co_await present(gw, std::move(rows));
  std::map<operation_id, shown_operation*> by_id;
  for (auto& op : shown_at_once) by_id.emplace(op.row.id, &op);
  for (auto& op : shown) by_id.emplace(op.row.id, &op);
  std::map<operation_id, std::size_t> last; // the last item that each one answers; earlier ones repeat the id
  for (std::size_t i = 0; i < items.size(); ++i)
    if (shown_as[i]) last.insert_or_assign(*shown_as[i], i);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!shown_as[i]) continue;
    const auto at = by_id.find(*shown_as[i]);
    if (at != by_id.end() && last.at(*shown_as[i]) == i)
      answers[i].operation = std::move(*at->second);
    else if (at != by_id.end())
      answers[i].operation = *at->second;
    else
      answers[i] =
          refused({.code = error_code::internal,
                   .detail = "the operation " + shown_as[i]->text() + " was accepted, but its row cannot be read"});
  }
  co_return json_answer(results_json(gw, answers, x.req.id));
}

} // namespace quell::controller::http
