// quell_cancel: cancels one operation, or everything that was started here.
//
// To cancel everything it cancels each child: this server's own operation must live on, and a cancel of the scope would
// also affect other users' operations there.
#include <algorithm>

#include "cli/fields.hpp"
#include "cli/mcp/tool_call.hpp"
#include "cli/mcp/words.hpp"
#include "protocol/id.hpp"

namespace quell::cli::mcp {
namespace {

constexpr milliseconds wait_for_proof{10'000};
constexpr milliseconds allowance{15'000};
constexpr milliseconds answer_timeout{10'000};
constexpr std::size_t most_at_once = 16;

/// The body of one cancel, which is remembered as ours.
json order(call_context& d, const cancel_arguments& a, milliseconds wait) {
  json body{{"dry_run", a.dry_run}, {"wait", wait.count() > 0 ? "settled" : "fenced"}, {"wait_ms", wait.count()}};
  if (!a.reason.empty()) body["reason"] = a.reason;
  if (a.dry_run) return body;
  body["id"] = cancel_id::fresh().text();
  d.own_cancels.insert(text_of(body, "id"));
  return body;
}

class cancel_one : public prompt_call {
 public:
  cancel_one(call_context& d, cancel_arguments a, done answered)
      : prompt_call(d, std::move(answered)), arguments_(std::move(a)) {}

  void begin() override {
    find(arguments_.id, [this](answer<json> a) {
      if (!a) return fail(a.error());
      ask("POST", "/v1/operations/" + text_of(*a, "id") + "/cancel", order(context_, arguments_, wait_for_proof),
          wait_for_proof + allowance, answer_timeout, [this](answer<json> cancel) {
            if (!cancel) return fail(cancel.error());
            finish({cancel_text(*cancel, now()), std::move(*cancel), false});
          });
    });
  }

 private:
  const cancel_arguments arguments_;
};

class cancel_all : public prompt_call {
 public:
  cancel_all(call_context& d, cancel_arguments a, done answered)
      : prompt_call(d, std::move(answered)), arguments_(std::move(a)) {}

  void begin() override {
    until_ = steady::now() + wait_for_proof;
    // An operation that is just being started is not in the list yet; its id is known, and its cancel takes precedence
    // over its create.
    for (const auto& id : context_.starting) ids_.push_back(id);
    all_pages("/v1/operations?limit=1000&order=asc&status=live&parent=" + context_.own_id, "operations",
              [this](answer<json> all) {
                if (!all) return fail(all.error());
                for (const auto& operation : *all) {
                  const auto id = text_of(operation, "id");
                  if (std::find(ids_.begin(), ids_.end(), id) == ids_.end()) ids_.push_back(id);
                }
                cancels_.resize(ids_.size());
                go_on();
              });
  }

 private:
  void go_on() {
    while (open_ < most_at_once && next_ < ids_.size()) is_proving_ ? wait_for(next_++) : cancel(next_++);
    if (open_ > 0 || next_ < ids_.size()) return;
    if (is_proving_ || arguments_.dry_run) return conclude();
    // All are fenced: now wait for their proofs, under one time limit.
    is_proving_ = true;
    next_ = 0;
    go_on();
  }

  void cancel(std::size_t i) {
    ++open_;
    auto body = order(context_, arguments_, milliseconds{0});
    body["operation"] = ids_[i];
    ask("POST", "/v1/cancels", body, allowance, answer_timeout,
        [this, i](answer<json> a) { answered(i, std::move(a)); });
  }

  void wait_for(std::size_t i) {
    const auto id = text_of(cancels_[i], "id");
    if (id.empty() || text_of(cancels_[i], "status") == "settled") return;
    ++open_;
    const auto left = std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(until_ - steady::now()));
    ask("GET", "/v1/cancels/" + id + "?wait=settled&wait_ms=" + std::to_string(left.count()), nullptr, left + allowance,
        left, [this, i](answer<json> a) { answered(i, std::move(a)); });
  }

  void answered(std::size_t i, answer<json> a) {
    --open_;
    if (a)
      cancels_[i] = std::move(*a);
    else if (!is_proving_ && !wrong_)
      wrong_ = a.error();
    go_on();
  }

  void conclude() {
    std::erase_if(cancels_, [](const json& c) { return !c.is_object(); });
    if (wrong_ && cancels_.empty()) return fail(*wrong_);
    auto text = cancels_text(cancels_, now(), arguments_.dry_run);
    if (wrong_) text = clipped("Not everything could be cancelled: " + wrong_->detail + "\n" + text);
    json shape{{"cancels", cancels_}, {"next_cursor", nullptr}};
    finish({std::move(text), std::move(shape), wrong_.has_value()});
  }

  const cancel_arguments arguments_;
  steady::time_point until_{};
  std::vector<std::string> ids_;
  std::vector<json> cancels_;
  std::optional<problem> wrong_;
  std::size_t next_ = 0, open_ = 0;
  bool is_proving_ = false;
};

} // namespace

std::unique_ptr<tool_call> make_cancel_call(call_context& d, cancel_arguments arguments, tool_call::done answered) {
  if (arguments.id.empty()) return std::make_unique<cancel_all>(d, std::move(arguments), std::move(answered));
  return std::make_unique<cancel_one>(d, std::move(arguments), std::move(answered));
}

} // namespace quell::cli::mcp
