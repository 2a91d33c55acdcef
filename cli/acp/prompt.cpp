// From a prompt to its result.
#include "cli/acp/prompt.hpp"

#include <algorithm>

#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/turn_view.hpp"
#include "cli/url.hpp"

namespace quell::cli::acp {
namespace {

constexpr milliseconds default_grace{2'000};
constexpr milliseconds beyond_grace{10'000}; ///< DESIGN 3.5: from then on it is unproven
constexpr milliseconds last_look{3'000};
constexpr milliseconds proof_wait{20'000};
constexpr milliseconds proof_pause{300};
constexpr milliseconds upload_timeout{60'000};

/// How long until it is late: from the last kill that is due on, or from the time at which the owner of foreign work
/// counts as silent. A lease that ends is neither: that can take days.
milliseconds until_late(const json& cancel) {
  milliseconds longest{0};
  const auto now = wall_now();
  if (const auto& open = member(member(cancel, "report"), "unproven"); open.is_array())
    for (const auto& one : open) {
      const auto& next = member(one, "next");
      const auto action = text_of(next, "action");
      if (const auto at = instant_of(next, "at"); at && (action == "kill" || action == "settle_unconfirmed"))
        longest = std::max(longest, std::chrono::duration_cast<milliseconds>(*at - now) + beyond_grace);
    }
  return longest;
}

} // namespace

prompt::prompt(api& controller, json message, std::vector<prompt_image> images, milliseconds reconnect,
               editor_shows editor, callbacks c)
    : api_(controller), tell_(std::move(c)), message_(std::move(message)), images_(std::move(images)),
      reconnect_(reconnect), updates_(std::make_unique<turn_updates>("")), scope_(text_of(message_, "scope")),
      author_(member(message_, "author")), editor_(editor), missed_contact_(reconnect) {
  message_["on_disconnect"] = "cancel";
}

void prompt::start() { upload(0); }

/// One after the other. Until all are there nothing was said, so that a cancel has nothing to stop.
void prompt::upload(std::size_t index) {
  if (index == images_.size()) {
    images_.clear();
    return begin();
  }
  auto& image = images_[index];
  const auto path = "/v1/blobs?scope=" + percent_encoded(scope_) + "&name=" + percent_encoded(image.name);
  auto bytes = std::exchange(image.bytes, {});
  keep(api_.send_file(path, image.type, std::move(bytes), upload_timeout, [this, index](answer<json> a) {
    if (is_over_) return;
    if (!a) return fail(a.error());
    message_["attachments"].push_back({{"blob", text_of(*a, "id")}});
    upload(index + 1);
  }));
}

void prompt::fail(const problem& p) {
  if (is_over_) return;
  if (is_cancelled_ && p.status == 0) return answer_cancelled(cancel_); // contact was given up
  is_over_ = true;
  api_.loop().forget(bound_);
  tell_.failed(p.detail, {{"code", p.code}, {"turn", stream_ ? stream_->turn() : ""}});
}

/// An empty answer would say nothing. A word that had nothing to stop ends without one.
void prompt::refuse_unheard(const std::string& why) {
  problem p;
  p.status = 403; // the controller has answered
  p.code = text_of(error_code::forbidden);
  p.detail = "the prompt was not answered (" + why + ")";
  if (why == "place_closed") p.detail += ": nobody speaks to agents in scope " + scope_;
  fail(p);
}

void prompt::begin() {
  turn_stream::callbacks from;
  from.decided = [this](const json& decision) {
    updates_ = std::make_unique<turn_updates>(text_of(member(decision, "turn"), "id"));
    const auto why = text_of(decision, "why");
    if (text_of(decision, "decision") == "ignored" && why != "nothing_active") refuse_unheard(why);
  };
  from.event = [this](const json& event) { take(event); };
  from.contact = [this](const std::string& lost) { tell_.warn(lost.empty() ? "the controller answers again" : lost); };
  from.stopping = [this](const json& cancel) { stopping(cancel); };
  from.ended = [this](const json& operation) { ended(operation); };
  from.failed = [this](const problem& p) { fail(p); };
  stream_ = std::make_unique<turn_stream>(api_, std::move(message_), reconnect_, std::move(from));
  stream_->start();
}

prompt::~prompt() {
  auto& loop = api_.loop();
  for (const auto call : calls_) loop.abandon(call);
  loop.forget(bound_);
}

event_loop::handle prompt::keep(event_loop::handle call) {
  calls_.push_back(call);
  return call;
}

json prompt::cancelled_before_its_turn() {
  return {{"stopReason", "cancelled"}, {"_meta", {{"quell", {{"cancel", json()}, {"proven", true}}}}}};
}

void prompt::cancel(const std::string& reason) {
  if (is_over_ || is_cancelled_) return;
  is_cancelled_ = true;
  if (has_end_) return ended(std::exchange(end_, json())); // it came before the cancel
  if (!stream_) return respond(cancelled_before_its_turn());
  stream_->stop(reason);
  bound_by(default_grace + beyond_grace);
}

void prompt::bound_by(milliseconds limit) {
  auto& loop = api_.loop();
  loop.forget(bound_);
  bound_ = loop.after(limit, [this] { answer_late(); });
}

void prompt::stopping(const json& cancel) {
  is_cancel_answered_ = true;
  if (is_over_ || !has_stopped_its_target(cancel)) return; // the turn's end comes, and names the cancel that ended it
  cancel_ = cancel;
  bound_by(std::max(default_grace + beyond_grace, until_late(cancel)));
}

bool prompt::lingers() const {
  return is_over_ && is_cancelled_ && !is_cancel_answered_ && stream_ && stream_->may_exist() && !stream_->is_over();
}

/// The time is over: the answer says what is known, and what is not.
void prompt::answer_late() {
  if (is_over_) return;
  const auto id = text_of(cancel_, "id");
  if (id.empty()) return answer_cancelled(cancel_);
  keep(api_.call("GET", "/v1/cancels/" + id, nullptr, last_look, [this](answer<json> a) {
    if (is_over_) return;
    if (a) cancel_ = std::move(*a);
    const auto left = a ? until_late(cancel_) : milliseconds{0}; // its grace can be longer than was known
    if (left <= milliseconds{0}) return answer_cancelled(cancel_);
    bound_by(left);
  }));
}

void prompt::respond(json result) {
  if (is_over_) return;
  is_over_ = true;
  api_.loop().forget(bound_);
  result["_meta"]["quell"]["turn"] = !stream_ || stream_->turn().empty() ? json() : json(stream_->turn());
  result["_meta"]["quell"]["scope"] = scope_;
  tell_.answered(std::move(result));
}

void prompt::answer_cancelled(const json& cancel) {
  const bool is_proven = member(member(cancel, "report"), "proven") == true;
  json about = {{"cancel", cancel}, {"proven", is_proven}};
  if (!cancel.is_object()) // no controller has answered it
    about["why"] = "the controller at " + api_.where().url +
                   " does not answer: whether the turn still works is not known" +
                   (stream_ && !stream_->is_over() ? "; the cancel is repeated" : "");
  respond({{"stopReason", "cancelled"}, {"_meta", {{"quell", std::move(about)}}}});
}

void prompt::ended(const json& operation) {
  if (is_over_) return;
  if (is_behind_ && !is_cancelled_) {
    has_end_ = true;
    end_ = operation;
    return;
  }
  const auto status = text_of(operation, "status");
  const auto& turn = member(operation, "turn");
  if (operation.is_object() && (!is_cancelled_ || tell_.has_room()))
    for (auto& update : updates_->rest(text_of(turn, "text"))) tell_.update(std::move(update));
  if (status == "failed") {
    const auto& error = member(operation, "error");
    is_over_ = true;
    api_.loop().forget(bound_);
    return tell_.failed(text_of(error, "message"), {{"code", text_of(error, "code")}, {"turn", stream_->turn()}});
  }
  if (status != "cancelled") return respond({{"stopReason", stop_reason_of(text_of(turn, "stop_reason"))}});
  const bool is_ours = !stream_->cancel().is_null();
  const auto id = is_ours ? text_of(stream_->cancel(), "id") : text_of(member(operation, "stop"), "cancel");
  if (id.empty()) { // a closed connection, a time limit: it has no cancel of its own
    json result = {{"stopReason", "cancelled"}};
    result["_meta"]["quell"]["stop"] = member(operation, "stop");
    return respond(std::move(result));
  }
  cancel_ = is_ours ? stream_->cancel() : json{{"id", id}};
  if (text_of(cancel_, "status") == "settled") return answer_cancelled(cancel_);
  if (is_ours) {
    stopping(stream_->cancel()); // also if the turn ended before the cancel was answered
    return await_proof(id);
  }
  bound_by(default_grace + beyond_grace); // somebody else's: its report says how long it may take
  keep(api_.call("GET", "/v1/cancels/" + id, nullptr, last_look, [this, id](answer<json> a) {
    if (is_over_) return;
    if (a) stopping(*a);
    await_proof(id);
  }));
}

/// The turn has ended, and what it started can still be dying. `bound_` ends the wait.
void prompt::await_proof(const std::string& cancel) {
  const auto path = "/v1/cancels/" + cancel + "?wait=settled&wait_ms=" + std::to_string(proof_wait.count());
  keep(api_.call("GET", path, nullptr, proof_wait * 2, [this, cancel](answer<json> a) {
    if (is_over_) return;
    if (a) cancel_ = std::move(*a);
    const bool is_refused = !a && !may_pass(a.error()); // a cancel above the token's scope
    if (is_refused || text_of(cancel_, "status") == "settled") return answer_cancelled(cancel_);
    api_.loop().after(proof_pause, [this, cancel, alive = std::weak_ptr(alive_)] {
      if (!alive.expired() && !is_over_) await_proof(cancel);
    });
  }));
}

} // namespace quell::cli::acp
