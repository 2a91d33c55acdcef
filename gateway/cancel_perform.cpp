// From a checked cancel to its answer.
#include "gateway/cancel_perform.hpp"

#include <spdlog/spdlog.h>

#include "gateway/presenter.hpp"

namespace quell::controller::http {

namespace {

bool has_reached(const cancel_view& view, cancel_status wanted) {
  return static_cast<int>(view.record.status) >= static_cast<int>(wanted);
}

/// Waits until the cancel has reached `wanted` or the time is over; `view` then has the state of that moment.
awaitable<> wait_for(exchange& x, cancel_view& view, cancel_status wanted, wait_deadline until) {
  if (has_reached(view, wanted)) co_return;
  auto& gw = x.gw;
  x.begin_watching();
  const auto id = view.record.id;
  const auto first_outcome = view.record.outcome;
  auto wake = std::make_shared<signal>(*gw.io);
  const auto ticket = gw.hub.watch(id, wake);
  while (!gw.stopping) {
    auto fresh = co_await find_cancel(gw, id);
    if (fresh) view = std::move(*fresh);
    view.record.outcome = first_outcome; // `joined` describes this request, not the cancel
    if (has_reached(view, wanted)) break;
    const bool woken = co_await x.wait(wake, until);
    if (!woken) break;
  }
}

/// The titles of a few operations may be read from the store for the answer at the fence. Those of many would keep the
/// answer behind a reader (docs/api.md).
constexpr std::size_t most_titles_read = 8;

/// Fills in the titles that this thread remembers. How many of those that are listed it does not.
std::size_t fill_remembered_titles(gateway_context& gw, cancel_view& view) {
  std::size_t unknown = 0;
  for (std::size_t i = 0; i < view.unproven.size() && i < max_unproven_listed; ++i) {
    if (const auto* title = gw.titles.find(view.unproven[i].operation))
      view.unproven[i].title = *title;
    else
      ++unknown;
  }
  return unknown;
}

std::string text_of(const cancel_view& view) {
  json_writer to;
  write_cancel(to, view, max_unproven_listed);
  return to.take();
}

/// "" = without what only the store knows.
awaitable<std::string> text_after_wait(exchange& x, cancel_wait until, cancel_view& view) {
  if (until.status != cancel_status::fenced)
    co_await wait_for(x, view, until.status, std::chrono::steady_clock::now() + until.longest);
  else if (fill_remembered_titles(x.gw, view) > most_titles_read)
    co_return std::string{};
  co_await fill_titles(x.gw, view, max_unproven_listed);
  co_return text_of(view);
}

} // namespace

awaitable<outcome<cancel_view>> order_cancel(gateway_context& gw, cancel_order order, service::may_target what) {
  const auto claim = std::make_shared<order_claim>();
  std::function<void(std::function<void(outcome<cancel_view>)>)> start = [&gw, &order, what, claim](auto reply) {
    gw.controller.cancel_claimed(std::move(order), what, claim, std::move(reply));
  };
  co_return co_await ask_for_sure<outcome<cancel_view>>(gw.io, claim, start);
}

void note_unread(const std::string& what, const std::string& why) {
  spdlog::warn("{} and answered without what the store knows: {}", what, why);
}

awaitable<response> answer_performed(exchange& x, cancel_wait until, cancel_view view) {
  auto& gw = x.gw;
  gw.cancel_reasons.put(view.record.id, {view.record.reason, view.record.by});
  auto read = co_await read_after_cancel<std::string>("cancel " + view.record.id.text() + " is under way",
                                                      text_after_wait(x, until, view));
  auto text = read && !read->empty() ? std::move(*read) : text_of(view);
  co_return json_answer(std::move(text), cancel_http_status(view));
}

} // namespace quell::controller::http
