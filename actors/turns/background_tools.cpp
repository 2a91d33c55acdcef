// task_output, task_wait, task_kill: an agent's own commands in the background.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "actors/turns/background.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/turn_port.hpp"
#include "actors/turns/whole_characters.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/order_cancel.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds task_look_interval{50}, beyond_grace{10'000};
constexpr std::size_t default_read = 16 << 10, most_newest = 4 << 10, longest_character = 4;
constexpr int most_task_looks = 40; ///< 2 s for the last bytes of an output

/// The text for a foreign id, and for one that does not exist: an agent learns nothing about work that is not its own.
std::string unknown_task(const json_result_texts& texts, const std::string& named) {
  return texts.failed(failure_code::unknown_task, "there is no command in the background with the id " +
                                                      named.substr(0, 64) +
                                                      " here; exec with background: true answers such an id");
}

json standing_of(const records::operation_record& row) {
  const auto& hot = row.hot;
  json answer_json{{"task", row.id.text()}, {"status", name_of(hot.now)}, {"running", !is_terminal(hot.now)}};
  if (is_terminal(hot.now) && hot.exit && hot.exit->code) answer_json["exit_code"] = *hot.exit->code;
  if (is_terminal(hot.now) && hot.exit && hot.exit->signal) answer_json["signal"] = *hot.exit->signal;
  if (is_terminal(hot.now) && hot.error) answer_json["error"] = hot.error->message;
  return answer_json;
}

/// One look at a command. Its end belongs to the call's actor; the rest is constant once the command is found, so the
/// reads of the disk share it.
class task_look final : public std::enable_shared_from_this<task_look> {
 public:
  task_look(std::shared_ptr<agent_runtime> runtime, const agent_context& who, std::string name, json input)
      : runtime_(std::move(runtime)), who_(who), name_(std::move(name)), input_(std::move(input)) {}

  void begin(actors::step_poster post, std::function<void(actors::work_end)> done) {
    if (is_stopped_) return done(cancelled());
    post_ = std::move(post);
    done_ = std::move(done);
    const auto id = operation_id::parse(input_.value("task", ""));
    if (!id) return finish(unknown());
    id_ = *id;
    runtime_->background_reads->run([self = shared_from_this()](store_reader& store) {
      self->post_([self, row = store.operation(self->id_)] { self->found(row); });
    });
  }
  /// A command that task_kill has ended meanwhile ends all the same.
  void stop() {
    is_stopped_ = true;
    finish(cancelled());
  }

 private:
  actors::work_end cancelled() const { return {false, runtime_->texts->cancelled(), true}; }
  actors::work_end unknown() const { return {false, unknown_task(*runtime_->texts, input_.value("task", ""))}; }
  void finish(actors::work_end how) {
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(how));
  }

  void found(const result<std::optional<records::operation_record>>& row) {
    if (!row) return finish({false, runtime_->texts->failed(row.error().code, row.error().detail)});
    if (!*row || !is_background_of(**row, who_)) return finish(unknown());
    if (is_stopped_) return;
    if (name_ == "task_kill") return end_task((*row)->grace);
    wait(milliseconds{name_ == "task_wait" ? input_.value("timeout_ms", 30'000) : 0});
  }

  void end_task(milliseconds grace) {
    cancel_order c;
    c.by_token = agent_runtime::acting_for(who_.owner);
    c.target = records::target_operation{id_};
    c.if_unknown = unknown_id::is_refused;
    c.reason = "ended by the agent with task_kill";
    c.by = who_.owner;
    c.via_channel = "agent";
    c.received = runtime_->core.now().boot;
    // A refusal says that it has ended by itself.
    runtime_->core.execute(
        {commands::order_cancel{std::move(c), cancel_id::fresh(), commands::order_cancel::may_target::live_target},
         [self = shared_from_this(), grace](const outcome<cancel_view>&) {
           self->post_([self, grace] { self->wait(grace + beyond_grace); });
         }});
  }

  void wait(milliseconds at_most) { look(runtime_->core.now().boot + at_most); }

  void look(boot_time until) {
    runtime_->core.ask([self = shared_from_this(), until](const ledger& l, moment now) -> std::function<void()> {
      const auto live = l.view(self->id_, now);
      const bool is_over = !live || now.boot >= until;
      return [self, until, is_over, live = live ? std::optional(live->hot) : std::nullopt] {
        self->post_([self, until, is_over, live] { self->looked(until, is_over, live); });
      };
    });
  }

  void looked(boot_time until, bool is_over, const std::optional<records::operation_hot>& live) {
    if (is_stopped_) return;
    if (!is_over)
      return runtime_->background_reads->run_after(task_look_interval,
                                                   [self = shared_from_this(), until](store_reader&) {
                                                     self->post_([self, until] {
                                                       if (!self->is_stopped_) self->look(until);
                                                     });
                                                   });
    runtime_->background_reads->run(
        [self = shared_from_this(), live](store_reader& store) { self->answer(store, live, most_task_looks); });
  }

  // As background reads:

  void answer(store_reader& store, const std::optional<records::operation_hot>& live, int looks) {
    auto row = store.operation(id_);
    if (!row || !*row) return end_with(unknown());
    if (live) (*row)->hot = *live;
    auto answer_json = standing_of(**row);
    const bool is_complete = name_ == "task_output" ? add_piece(answer_json) : add_newest(answer_json);
    if (!live && !is_complete && looks > 0) // the last bytes can arrive after the end
      return runtime_->background_reads->run_after(
          task_look_interval,
          [self = shared_from_this(), looks](store_reader& again) { self->answer(again, std::nullopt, looks - 1); });
    end_with({true, json_text({{"ok", true}, {"result", std::move(answer_json)}})});
  }
  void end_with(actors::work_end how) {
    post_([self = shared_from_this(), how = std::move(how)] { self->finish(how); });
  }

  /// The bytes that the call asks for; true: there is nothing to wait for.
  bool add_piece(json& answer_json) const {
    const auto which = input_.value("stream", "stdout") == "stderr" ? stream::err : stream::out;
    const auto most = static_cast<std::size_t>(input_.value("max_bytes", std::int64_t{default_read}));
    const auto counts = runtime_->output->counts(id_);
    const auto size = which == stream::out ? counts.stdout_bytes : counts.stderr_bytes;
    const auto newest = size - std::min<std::uint64_t>(size, most);
    const auto from = input_.contains("offset") ? input_.at("offset").get<std::uint64_t>() : newest;
    auto slice = runtime_->output->read(id_, which, from, most);
    const bool is_complete = !slice || slice->end || slice->bytes.size() == most;
    if (slice && !input_.contains("offset")) skip_rest_of_character(*slice);
    if (slice && most >= longest_character) leave_begun_character(*slice); // the next piece begins with it
    answer_json["stream"] = which == stream::err ? "stderr" : "stdout";
    answer_json["stdout_bytes"] = counts.stdout_bytes;
    answer_json["stderr_bytes"] = counts.stderr_bytes;
    answer_json["offset"] = slice ? slice->offset : from;
    answer_json["next_offset"] = slice ? slice->offset + slice->bytes.size() : from;
    bool was_cut = false;
    answer_json["text"] = slice ? bounded_text(slice->bytes, 3 * most, was_cut) : "";
    return is_complete;
  }

  bool add_newest(json& answer_json) const {
    bool is_complete = true;
    for (const auto which : {stream::out, stream::err}) {
      const auto counts = runtime_->output->counts(id_);
      const auto size = which == stream::out ? counts.stdout_bytes : counts.stderr_bytes;
      auto slice = runtime_->output->read(id_, which, size - std::min<std::uint64_t>(size, most_newest), most_newest);
      const std::string name = which == stream::out ? "stdout" : "stderr";
      if (slice && slice->offset > 0) skip_rest_of_character(*slice);
      bool was_cut = false;
      answer_json[name] = slice ? bounded_text(slice->bytes, 3 * most_newest, was_cut) : "";
      answer_json[name + "_bytes"] = size;
      is_complete = is_complete && (!slice || slice->end);
    }
    return is_complete;
  }

  std::shared_ptr<agent_runtime> runtime_;
  const agent_context who_;
  const std::string name_;
  const json input_;
  actors::step_poster post_;
  operation_id id_;
  bool is_stopped_ = false;
  std::function<void(actors::work_end)> done_;
};

class background_tool final : public actors::tool_work {
 public:
  explicit background_tool(std::shared_ptr<task_look> look) : look_(std::move(look)) {}
  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    look_->begin(std::move(post), std::move(done));
  }
  void stop(const std::string&) override { look_->stop(); }

 private:
  std::shared_ptr<task_look> look_;
};

} // namespace

std::unique_ptr<actors::tool_work> make_background_tool(std::shared_ptr<agent_runtime> runtime,
                                                        const agent_context& who, const operation_id& call,
                                                        const tool_definition& tool, const tool_call& what) {
  (void)call;
  auto read = read_input(tool, what.input);
  if (!read) return make_answer({false, runtime->texts->failed(read.error().code, read.error().detail)});
  if (!runtime->output)
    return make_answer(
        {false, runtime->texts->failed(std::string(text_of(error_code::internal)), "there is no output here")});
  return std::make_unique<background_tool>(
      std::make_shared<task_look>(std::move(runtime), who, tool.offer.name, json::parse(read->json, nullptr, false)));
}

} // namespace quell::controller::turns
