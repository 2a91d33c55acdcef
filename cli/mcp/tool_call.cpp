// The steps that all calls share: ask, find, end.
#include "cli/mcp/tool_call.hpp"

#include <algorithm>

#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/mcp/words.hpp"
#include "cli/short_id.hpp"
#include "cli/url.hpp"

namespace quell::cli::mcp {
namespace {

constexpr std::size_t most_remembered = 100'000;
constexpr std::size_t most_items = 10'000;
constexpr int most_levels = 64; ///< of a tree; the controller's limit
constexpr milliseconds look_within{15'000};

answer<json> not_mine(const std::string& typed) {
  return refuse(error_code::operation_not_found,
                "There is no operation " + typed +
                    " among what you started here, or below that. quell_list shows what there is.");
}

} // namespace

void call_context::remember(const std::string& id) {
  if (mine.size() >= most_remembered) mine.clear(); // only a cache
  mine.insert(id);
}

bool call_context::was_cancelled_by_others(const json& operation) const {
  const auto& stop = member(operation, "stop");
  return text_of(operation, "status") == "cancelled" && text_of(stop, "cause") == "cancel" &&
         !own_cancels.contains(text_of(stop, "cancel"));
}

tool_call::~tool_call() { abandon_all(); }

void tool_call::abandon_all() {
  auto& loop = context_.controller.loop();
  for (const auto transfer : std::exchange(transfers_, {})) loop.abandon(transfer);
  for (const auto timer : std::exchange(timers_, {})) loop.forget(timer);
}

void tool_call::finish(call_answer a) {
  abandon_all();
  // Must be the last statement: the answer destroys this call.
  if (const auto tell = std::exchange(answered_, nullptr)) tell(std::move(a));
}

void tool_call::fail(const problem& p) {
  const auto document = json::parse(p.document, nullptr, false);
  const bool is_theirs = p.status != 0 && document.is_object();
  finish({clipped(p.detail + (may_pass(p) ? " Call again in a while." : "")), is_theirs ? document : json(), true});
}

view tool_call::now() const { return {wall_now(), time_zone::utc, false, character_set::utf8}; }

void tool_call::pause(milliseconds how_long, std::function<void()> next) {
  const auto timer = std::make_shared<event_loop::handle>(0);
  *timer = context_.controller.loop().after(how_long, [this, timer, next = std::move(next)] {
    timers_.erase(*timer);
    next();
  });
  timers_.insert(*timer);
}

void tool_call::attempt(const std::string& method, const std::string& path, const json& body, milliseconds timeout,
                        steady::time_point until, milliseconds rest, then next) {
  const auto transfer = std::make_shared<event_loop::handle>(0);
  *transfer = context_.controller.call(method, path, body, timeout, [=, this](answer<json> a) {
    transfers_.erase(*transfer);
    if (a || !may_pass(a.error()) || steady::now() + rest >= until) return next(std::move(a));
    pause(rest, [=, this] {
      context_.controller.find_again();
      attempt(method, path, body, timeout, until, std::min(rest * 2, milliseconds{1000}), next);
    });
  });
  transfers_.insert(*transfer);
}

void tool_call::ask(const std::string& method, const std::string& path, const json& body, milliseconds timeout,
                    milliseconds allowance, then next) {
  attempt(method, path, body, timeout, steady::now() + allowance, milliseconds{100}, std::move(next));
}

void tool_call::look(const std::string& path, then next) {
  ask("GET", path, nullptr, look_within, look_timeout_, std::move(next));
}

void tool_call::more_pages(const std::string& path, const char* key, const std::string& cursor,
                           std::shared_ptr<json> all, then next) {
  look(with_query(path, {{"cursor", cursor}}), [=, this](answer<json> page) {
    if (!page) return next(std::move(page));
    for (auto& item : (*page)[key]) all->push_back(std::move(item));
    const auto following = text_of(*page, "next_cursor");
    if (following.empty() || following == cursor || all->size() >= most_items) return next(std::move(*all));
    more_pages(path, key, following, all, next);
  });
}

void tool_call::all_pages(const std::string& path, const char* key, then next) {
  more_pages(path, key, {}, std::make_shared<json>(json::array()), std::move(next));
}

void tool_call::find(const std::string& typed, then next) {
  if (!is_whole_id(typed)) return find_tail(typed, std::move(next));
  if (typed == context_.own_id) return next(not_mine(typed));
  look("/v1/operations/" + typed, [=, this](answer<json> a) {
    if (!a) return next(has_code(a.error(), error_code::operation_not_found) ? not_mine(typed) : std::move(a));
    if (context_.mine.contains(typed)) return next(std::move(a));
    climb(*a, text_of(*a, "parent"), 0, next);
  });
}

void tool_call::climb(const json& operation, const std::string& at, int steps, then next) {
  const auto id = text_of(operation, "id");
  if (at == context_.own_id || context_.mine.contains(at)) {
    context_.remember(id);
    return next(operation);
  }
  if (at.empty() || steps >= most_levels) return next(not_mine(id));
  look("/v1/operations/" + at, [=, this](answer<json> parent) {
    if (!parent)
      return next(has_code(parent.error(), error_code::operation_not_found) ? not_mine(id) : std::move(parent));
    climb(operation, text_of(*parent, "parent"), steps + 1, next);
  });
}

void tool_call::find_tail(const std::string& typed, then next) {
  const auto known = matching_ids({context_.mine.begin(), context_.mine.end()}, typed);
  if (known.size() == 1 && typed.size() >= 8) return find(known.front(), std::move(next));
  all_pages("/v1/operations?limit=1000&below=" + context_.own_id, "operations", [=, this](answer<json> all) {
    if (!all) return next(std::move(all));
    std::vector<std::string> ids;
    for (const auto& operation : *all)
      if (const auto id = text_of(operation, "id"); id != context_.own_id) ids.push_back(id);
    const auto found = matching_ids(ids, typed);
    if (found.empty()) return next(not_mine(typed));
    if (found.size() > 1) {
      std::string candidates;
      for (std::size_t i = 0; i < found.size() && i < 10; ++i) candidates += (i ? ", " : "") + found[i];
      return next(refuse(local_code::ambiguous, typed + " is the end of " + std::to_string(found.size()) +
                                                    " ids: " + candidates + ". Give more of it."));
    }
    context_.remember(found.front());
    find(found.front(), next);
  });
}

} // namespace quell::cli::mcp
