// Its steps are the agent's; only files are read elsewhere. A cut can come between any two of them: a later step finds
// it and does nothing.
#include "actors/turns/fitted_request.hpp"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

#include "actors/turns/context_fit.hpp"
#include "actors/turns/model_chain.hpp"
#include "actors/turns/request_files.hpp"
#include "actors/turns/summary_call.hpp"
#include "protocol/failure_code.hpp"

namespace quell::controller::turns {
namespace {

/// With less room than this, `context` is set too small: a summary would have to be written for each request.
constexpr std::size_t least_room = 400;

/// Possibly because of an image: a provider that cannot read one refuses every request with it.
bool is_refusal(const fault& why) { return has_code(why, failure_code::model_refused); }

bool is_overflow(const fault& why) { return has_code(why, failure_code::context_overflow); }

class request_run final : public std::enable_shared_from_this<request_run> {
 public:
  explicit request_run(fitted_request what) : what_(std::move(what)), chain_(what_.who->model) {
    note_result_files(what_.messages.messages);
    base_.instructions = what_.who->agent.instructions;
    base_.tools = what_.who->tools.offers();
    base_.scope = what_.who->scope.text();
    base_.tenant = what_.who->tenant;
    fixed_ = estimated_tokens(base_.instructions);
    for (const auto& tool : base_.tools)
      fixed_ += estimated_tokens(tool.name) + estimated_tokens(tool.description) + estimated_tokens(tool.input_schema);
    measure();
  }

  void begin() {
    auto& arriving = what_.runtime->arriving;
    awaited_ = arriving.among(what_.messages.messages);
    if (awaited_.empty()) return start();
    arriving.wait(awaited_, [self = shared_from_this()] { self->what_.post([self] { self->files_settled(); }); });
  }

  void hang_up(std::function<void()> closed) {
    give_up_files();
    is_cut_ = true;
    if (call_) return call_->cancel(std::move(closed));
    if (summary_) return summary_->stop(std::move(closed));
    if (closed) closed();
  }

  model_usage used() const {
    auto all = spent_;
    if (call_) all += call_->used();
    return all;
  }

  /// Nobody listens any more.
  void drop() {
    give_up_files();
    is_cut_ = true;
    call_.reset();
    if (const auto summary = std::exchange(summary_, nullptr)) summary->stop({});
  }

 private:
  void give_up_files() { what_.runtime->arriving.give_up(std::exchange(awaited_, {})); }

  void files_settled() {
    if (is_cut_) return;
    awaited_.clear();
    start();
  }

  void start() {
    note_arrivals(what_.messages.messages, what_.who->scope, what_.runtime->blobs, what_.runtime->arriving);
    fit();
  }

  void fit() {
    auto fit = fit_into(what_.messages.messages, room_);
    if (fit.left_out == 0 && fit.fits) return ask(std::move(fit));
    if (!summarise()) ask(std::move(fit));
  }

  /// The key of what was learned of its length.
  std::string overflow_key(const integrations::model_settings& model) const {
    const auto& who = *what_.who;
    return who.scope.text() + "\n" + model.name + (who.is_sub_agent ? "\n" + who.operation.text() : "");
  }

  /// The tokens that the context of a model leaves to the conversation.
  std::size_t configured_room(const integrations::model_settings& model) const {
    const auto fixed = fixed_ + model.max_tokens;
    return model.context > fixed ? model.context - fixed : 0;
  }
  std::size_t room_of(const integrations::model_settings& model) const {
    return what_.runtime->overflows.room(overflow_key(model), configured_room(model));
  }

  /// The request is made for this model from now on.
  void measure() {
    room_ = room_of(chain_.now());
    reading_room_ = summary_reading_room(chain_.now(), configured_room(chain_.now()));
    if (room_ < configured_room(chain_.now())) reading_room_ = std::min(reading_room_, room_);
  }

  /// A turn that may ask a model no more would end with its summary, and the next one, too.
  bool may_ask_twice() const {
    const auto most = what_.who->tree->limits().model_calls;
    return most == 0 || what_.who->tree->cost().calls + 1 < most; // the open call is not in the sum yet
  }

  /// False: there is nothing to summarise, or nothing can be stored or asked.
  bool summarise() {
    if (what_.runtime->core.is_low() || room_ < least_room || !may_ask_twice()) return false;
    auto plan = plan_compaction(what_.messages, room_, reading_room_);
    if (!plan) return false;
    summary_order order;
    order.id = operation_id::fresh();
    order.scope = what_.who->scope;
    order.owner = what_.who->owner;
    order.tenant = what_.who->tenant;
    order.parent = what_.who->operation;
    order.root = what_.who->root;
    order.tree = what_.who->tree;
    order.agent = what_.who->agent.name;
    order.model = chain_.with_fallbacks([](const auto&) { return true; });
    order.tokens = summary_tokens(order.model, room_);
    if (what_.who->is_sub_agent) order.sub_agent = what_.who->operation;
    order.stopped_by = what_.agent;
    order.plan = *plan;
    summary_ = std::make_shared<summary_call>(what_.runtime, std::move(order), what_.post);
    // Weak: the summary belongs to this request.
    summary_->start({}, what_.used_beside, [weak = weak_from_this(), plan = std::move(*plan)](const summary_end& end) {
      // A stale start: the stop is on its way to the agent.
      if (end.why && has_code(*end.why, error_code::stale_start)) return;
      if (const auto self = weak.lock()) self->summarised(plan, end);
    });
    return true;
  }

  void summarised(const compaction& plan, const summary_end& end) {
    if (is_cut_) return;
    summary_.reset();
    if (end.summary) {
      what_.messages = compacted(what_.messages, plan, *end.summary);
      what_.compacted(what_.messages, plan);
      spdlog::info("turn {}: {} messages gave way to a summary", what_.who->root.text(), end.summary->messages);
    } else {
      spdlog::warn("turn {}: no summary was written: {}", what_.who->root.text(), end.why ? end.why->detail : "");
    }
    ask(fit_into(what_.messages.messages, room_));
  }

  void ask(fitted_conversation fit) {
    if (fit.left_out > 0 || fit.trimmed_results > 0 || fit.trimmed_files > 0)
      spdlog::info("turn {}: {} messages were left out, {} results and {} files trimmed to fit into the context of "
                   "model \"{}\"",
                   what_.who->root.text(), fit.left_out, fit.trimmed_results, fit.trimmed_files, chain_.now().name);
    sent_tokens_ = fit.tokens;
    if (!has_files(fit.messages)) return send(std::move(fit.messages));
    what_.runtime->background_reads->run(
        [self = shared_from_this(), scope = what_.who->scope,
         messages = std::make_shared<conversation>(std::move(fit.messages))](store_reader&) {
          read_files(*messages, scope, self->what_.runtime->blobs);
          self->what_.post([self, messages] { self->send(std::move(*messages)); });
        });
  }

  void send(conversation messages) {
    if (is_cut_) return;
    auto request = base_;
    request.messages = std::move(messages);
    const std::lock_guard lock(what_.runtime->models_guard);
    if (!what_.runtime->models) return; // the process ends
    const auto model = chain_.with_fallbacks([this](const auto& other) { return room_of(other) >= sent_tokens_; });
    // Weak: this object holds the call.
    call_ = what_.runtime->models->ask(model, std::move(request),
                                       [weak = weak_from_this(), post = what_.post, listener = what_.listener,
                                        clock = what_.runtime->core.now,
                                        progress = std::make_shared<call_course>()](model_event event) {
                                         progress->note(event, clock().boot);
                                         if (!std::holds_alternative<model_events::failed>(event) &&
                                             !std::holds_alternative<model_events::finished>(event))
                                           return listener(std::move(event));
                                         post([weak, progress = *progress, event = std::move(event)]() mutable {
                                           if (const auto self = weak.lock()) self->ended(std::move(event), progress);
                                         });
                                       });
  }

  /// The model's last event.
  void ended(model_event event, const call_course& progress) {
    if (is_cut_) return;
    chain_.note_end(progress);
    if (progress.falls > 0) measure();
    const auto key = overflow_key(chain_.now());
    if (auto* failed = std::get_if<model_events::failed>(&event)) {
      const bool is_too_long = is_overflow(failed->why);
      auto& was_tried = is_too_long ? has_recovered_ : has_left_out_files_;
      if (!progress.has_shown && !was_tried && (is_too_long || (is_refusal(failed->why) && has_old_files()))) {
        was_tried = true;
        spent_ += failed->usage;
        return recover(*failed, progress);
      }
      if (fall_back(*failed, progress)) return;
      failed->usage += spent_;
      if (is_too_long) what_.runtime->overflows.refused(key, sent_tokens_);
    } else if (auto* finished = std::get_if<model_events::finished>(&event)) {
      finished->usage += spent_;
      what_.runtime->overflows.answered(key);
    }
    what_.listener(std::move(event));
  }

  /// Asks the next model, whose context is smaller, with a request of its own. False if there is none, or none can
  /// answer this.
  bool fall_back(const model_events::failed& failed, const call_course& progress) {
    auto to_next = chain_.fall_back(failed, progress);
    if (!to_next) return false;
    spent_ += failed.usage;
    call_.reset();
    has_recovered_ = false;
    measure();
    what_.listener(std::move(*to_next));
    fit();
    return true;
  }

  /// The provider counts more tokens than quell: half of what was sent is tried. Or it refuses the request, which
  /// an old image can cause: then it is tried without those, so that one image does not end every later turn.
  void recover(const model_events::failed& failed, const call_course& progress) {
    call_.reset();
    if (is_refusal(failed.why)) {
      leave_out_old_files(what_.messages.messages, "the provider refused a request with it");
      say_retry(failed, progress);
      return ask(fit_into(what_.messages.messages, room_));
    }
    room_ = std::min(room_, sent_tokens_) / 2;
    reading_room_ = std::min(reading_room_ / 2, sent_tokens_ / 2);
    auto less = fit_into(what_.messages.messages, room_);
    if (less.tokens >= sent_tokens_) { // nothing of it can be left out
      auto last = failed;
      last.usage = spent_;
      what_.runtime->overflows.refused(overflow_key(chain_.now()), sent_tokens_);
      return what_.listener(std::move(last));
    }
    say_retry(failed, progress);
    if (!summarise()) ask(std::move(less));
  }

  void say_retry(const model_events::failed& failed, const call_course& progress) {
    what_.listener(model_events::retrying{2, std::chrono::milliseconds(0), failed.why.detail, failed.why.code,
                                          chain_.now().name, usage_less(failed.usage, progress.given_up)});
  }

  bool has_old_files() {
    auto copy = what_.messages.messages;
    return leave_out_old_files(copy, "-") > 0;
  }

  fitted_request what_;
  model_chain chain_;
  model_request base_;
  std::size_t fixed_ = 0; ///< tokens of the instructions and the tools
  std::size_t room_ = 0, reading_room_ = 0, sent_tokens_ = 0;
  bool is_cut_ = false;
  std::vector<std::string> awaited_; ///< files that the request waits for
  bool has_left_out_files_ = false;  ///< after a refusal
  bool has_recovered_ = false;       ///< after an overflow of the model that is asked
  model_usage spent_;                ///< by requests before the one that is under way
  std::shared_ptr<summary_call> summary_;
  std::unique_ptr<integrations::model_call> call_;
};

class fitted_stream final : public actors::model_stream {
 public:
  explicit fitted_stream(std::shared_ptr<request_run> run) : run_(std::move(run)) {}
  ~fitted_stream() override { run_->drop(); }
  void hang_up(std::function<void()> closed) override { run_->hang_up(std::move(closed)); }
  model_usage used() const override { return run_->used(); }

 private:
  std::shared_ptr<request_run> run_;
};

} // namespace

std::unique_ptr<actors::model_stream> ask_fitted(fitted_request what) {
  auto run = std::make_shared<request_run>(std::move(what));
  auto stream = std::make_unique<fitted_stream>(run);
  run->begin();
  return stream;
}

} // namespace quell::controller::turns
