// State over a restart, and messages sent while we were offline.
#include <algorithm>

#include "integrations/chat/discord/bot.hpp"
#include "integrations/chat/discord/json_access.hpp"

namespace quell::integrations::chat::discord {
namespace {

using nlohmann::json;

constexpr unsigned most_pages = 5, most_tries = 4;
constexpr unsigned most_refusals = 60; ///< of one place
constexpr std::size_t page = 100;
constexpr auto history_route = "GET messages"; ///< one for all places, as a refusal pauses all
constexpr std::chrono::hours oldest{24};       ///< as long as repeated messages are recognised
constexpr std::int64_t discord_epoch_ms = 1'420'070'400'000;

bool is_recent(const std::string& id) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch() - oldest);
  std::uint64_t number = 0;
  for (const char c : id) number = number * 10 + static_cast<std::uint64_t>(c - '0');
  return static_cast<std::int64_t>(number >> 22) + discord_epoch_ms >= now.count();
}

} // namespace

void bot::recall() {
  const auto known = json::parse(notes_.recall(), nullptr, false);
  const auto positions = json::parse(positions_.recall(), nullptr, false);
  for (const auto* kept : {&known, &positions}) // older versions kept all in one
    if (const auto& marks = member_of(*kept, "heard"); marks.is_object())
      for (const auto& [place, id] : marks.items())
        if (id.is_string() && is_snowflake(id.get<std::string>())) marks_.recall(place, id.get<std::string>());
  const auto& shown = member_of(known, "shown");
  constexpr std::size_t most_nonce = 9; // with a number after it; Discord allows 25
  // Restored together with the used numbers; otherwise a new post would be taken for an old one.
  if (const auto nonce = text_of(known, "nonce"); shown.is_object() && !nonce.empty() && nonce.size() <= most_nonce)
    nonce_ = nonce;
  auto unfinished = outbox_.recover(shown.is_object() ? shown.dump() : std::string(), web_loop::now());
  missed_.fetch(outbox_.last_event(), std::move(unfinished));
  later_.emplace(web_loop::now() + missed_events::longest_wait, [this] { missed_.give_up(); });
}

std::string bot::to_keep() const {
  auto text = json::object({{"nonce", nonce_}}).dump();
  text.pop_back(); // the state of the outbox is JSON text, and this is written at every change
  return text + R"(,"shown":)" + outbox_.kept() + "}";
}

std::string bot::positions_to_keep() const { return json::object({{"heard", marks_.all()}}).dump(); }

/// Behind what the outbox knows: a message that is not heard again has its reply there.
std::optional<boot_time> bot::keep_positions(boot_time now) {
  if (!notes_.has(outbox_.changes()) || !notes_.is_stored()) return std::nullopt;
  return positions_.keep(marks_.changes(), now, [this] { return positions_to_keep(); });
}

/// Places in which something was said last come first.
void bot::catch_up() {
  const auto marks = marks_.all();
  std::vector<std::pair<std::string, std::string>> newest;
  for (const auto& [place, id] : marks)
    if (!held_.contains(place)) newest.emplace_back(id, place);
  std::sort(newest.begin(), newest.end(), [](const auto& a, const auto& b) {
    return a.first == b.first ? a.second < b.second : handled_marks::by_number{}(b.first, a.first);
  });
  for (auto& [id, place] : newest) {
    held_[place]; // until it is fetched, new messages there wait for the earlier ones
    histories_.add({place, id, most_pages});
  }
}

void bot::fetch_missed(boot_time now) {
  while (limits_.wait(history_route, now).count() == 0) {
    auto next = histories_.next();
    if (!next) return;
    const auto scope = scope_path::parse(next->place);
    const auto channel = scope ? channel_of(*scope) : std::string();
    if (channel.empty()) {
      histories_.ended();
      caught_up(next->place);
      continue;
    }
    const auto path = "/channels/" + channel + "/messages?limit=" + std::to_string(page) + "&after=" + next->after;
    loop_->fetch(request_to({"GET", path, "", history_route}),
                 [this, wanted = std::move(*next)](const web_response& answer) {
                   histories_.ended();
                   missed(wanted, answer);
                 });
  }
}

std::optional<boot_time> bot::next_history_at(boot_time now) const {
  const auto wait = limits_.wait(history_route, now);
  if (!histories_.may_begin() || wait.count() == 0) return std::nullopt;
  return now + wait;
}

bool bot::ask_again(history_queue::request wanted, const web_response& answer) {
  const auto now = web_loop::now();
  if (answer.what == web_end::answered && answer.status == 429) {
    if (++wanted.refusals > most_refusals) return false;
    limits_.answered(history_route, answer.status, answer.headers, answer.body, now);
    histories_.add_first(std::move(wanted));
    return true;
  }
  if (wanted.tries >= most_tries) return false;
  const auto wait = std::max<milliseconds>(answer.retry_after(), std::chrono::seconds(1U << wanted.tries));
  ++wanted.tries;
  later_.emplace(now + wait, [this, wanted = std::move(wanted)] { histories_.add_first(wanted); });
  return true;
}

void bot::missed(const history_queue::request& wanted, const web_response& answer) {
  const auto& place = wanted.place;
  auto list = json::parse(answer.body, nullptr, false);
  if (!answer.is_good() || !list.is_array()) {
    const bool is_gone = answer.what == web_end::answered && (answer.status == 403 || answer.status == 404);
    if (is_gone)
      marks_.forget(place);
    else if (ask_again(wanted, answer))
      return;
    else
      log("discord: what was said in " + place + " while quelld was away cannot be fetched (" +
          (answer.what == web_end::answered ? std::to_string(answer.status) : answer.error) + ")");
    return caught_up(place);
  }
  std::erase_if(list.get_ref<json::array_t&>(), [](const json& m) { return !is_snowflake(text_of(m, "id")); });
  std::sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return handled_marks::by_number{}(text_of(a, "id"), text_of(b, "id"));
  });
  const auto guild = std::string(scope_path::parse(place)->segments()[1]);
  for (auto& m : list) {
    if (guild != "dm") m["guild_id"] = guild; // this request leaves it out
    if (is_recent(text_of(m, "id"))) hear_message(written(m));
  }
  if (list.size() < page || wanted.pages <= 1) return caught_up(place);
  histories_.add_first({place, text_of(list.back(), "id"), wanted.pages - 1});
}

void bot::caught_up(const std::string& place) {
  const auto held = held_.find(place);
  if (held == held_.end()) return;
  auto waiting = std::move(held->second);
  held_.erase(held);
  for (const auto& s : waiting.stops())
    if (!s.left_out.empty()) outbox_.note(s.scope, not_begun_text(s.left_out.size()), s.id, web_loop::now());
  for (const auto& data : waiting.take()) hear_message(data);
}

} // namespace quell::integrations::chat::discord
