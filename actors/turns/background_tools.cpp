// task_output, task_wait, task_kill: an agent's own commands in the background.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "actors/turns/background.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/tool_input.hpp"
#include "actors/turns/turn_port.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/order_cancel.hpp"

namespace quell::controller::turns {

using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds task_look_interval{50}, beyond_grace{10'000};
constexpr std::size_t default_read = 16 << 10, most_newest = 4 << 10;
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

class task_look final : public std::enable_shared_from_this<task_look> {
 public:
  task_look(std::shared_ptr<agent_runtime> runtime, const agent_context& who, std::string name, json input)
      : runtime_(std::move(runtime)), who_(who), name_(std::move(name)), input_(std::move(input)) {}

  void begin(std::function<void(actors::work_end)> done) {
    done_ = std::move(done);
    runtime_->background_reads->run([self = shared_from_this()](store_reader& store) { self->find(store); });
  }
  void stop() {
    const std::lock_guard lock(guard_);
    is_stopped_ = true;
  }

 private:
  void find(store_reader& store) {
    const auto named = input_.value("task", "");
    const auto id = operation_id::parse(named);
    const auto row = id ? store.operation(*id) : result<std::optional<records::operation_record>>(std::nullopt);
    if (!row) return done_({false, runtime_->texts->failed(row.error().code, row.error().detail)});
    if (!*row || !is_background_of(**row, who_)) return done_({false, unknown_task(*runtime_->texts, named)});
    id_ = *id;
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
         [self = shared_from_this(), grace](const outcome<cancel_view>&) { self->wait(grace + beyond_grace); }});
  }

  void wait(milliseconds at_most) { look(runtime_->core.now().boot + at_most); }

  void look(boot_time until) {
    runtime_->core.ask([self = shared_from_this(), until](const ledger& l, moment now) -> std::function<void()> {
      const auto live = l.view(self->id_, now);
      const bool is_over = !live || now.boot >= until || self->is_stopped();
      return [self, until, is_over, live = live ? std::optional(live->hot) : std::nullopt] {
        if (!is_over)
          return self->runtime_->background_reads->run_after(task_look_interval,
                                                             [self, until](store_reader&) { self->look(until); });
        self->runtime_->background_reads->run(
            [self, live](store_reader& store) { self->answer(store, live, most_task_looks); });
      };
    });
  }

  void answer(store_reader& store, const std::optional<records::operation_hot>& live, int looks) {
    if (is_stopped()) return done_({false, runtime_->texts->cancelled(), true});
    auto row = store.operation(id_);
    if (!row || !*row) return done_({false, unknown_task(*runtime_->texts, id_.text())});
    if (live) (*row)->hot = *live;
    auto answer_json = standing_of(**row);
    const bool is_complete = name_ == "task_output" ? add_piece(answer_json) : add_newest(answer_json);
    if (!live && !is_complete && looks > 0) // the last bytes can arrive after the end
      return runtime_->background_reads->run_after(
          task_look_interval,
          [self = shared_from_this(), looks](store_reader& again) { self->answer(again, std::nullopt, looks - 1); });
    done_({true, json_text({{"ok", true}, {"result", std::move(answer_json)}})});
  }

  /// The bytes that the call asks for; true: there is nothing to wait for.
  bool add_piece(json& answer_json) const {
    const auto which = input_.value("stream", "stdout") == "stderr" ? stream::err : stream::out;
    const auto most = static_cast<std::size_t>(input_.value("max_bytes", std::int64_t{default_read}));
    const auto counts = runtime_->output->counts(id_);
    const auto size = which == stream::out ? counts.stdout_bytes : counts.stderr_bytes;
    const auto newest = size - std::min<std::uint64_t>(size, most);
    const auto from = input_.contains("offset") ? input_.at("offset").get<std::uint64_t>() : newest;
    const auto slice = runtime_->output->read(id_, which, from, most);
    answer_json["stream"] = which == stream::err ? "stderr" : "stdout";
    answer_json["stdout_bytes"] = counts.stdout_bytes;
    answer_json["stderr_bytes"] = counts.stderr_bytes;
    answer_json["offset"] = slice ? slice->offset : from;
    answer_json["next_offset"] = slice ? slice->offset + slice->bytes.size() : from;
    bool was_cut = false;
    answer_json["text"] = slice ? bounded_text(slice->bytes, 3 * most, was_cut) : "";
    return !slice || slice->end || slice->bytes.size() == most;
  }

  bool add_newest(json& answer_json) const {
    bool is_complete = true;
    for (const auto which : {stream::out, stream::err}) {
      const auto counts = runtime_->output->counts(id_);
      const auto size = which == stream::out ? counts.stdout_bytes : counts.stderr_bytes;
      const auto slice =
          runtime_->output->read(id_, which, size - std::min<std::uint64_t>(size, most_newest), most_newest);
      const std::string name = which == stream::out ? "stdout" : "stderr";
      bool was_cut = false;
      answer_json[name] = slice ? bounded_text(slice->bytes, 3 * most_newest, was_cut) : "";
      answer_json[name + "_bytes"] = size;
      is_complete = is_complete && (!slice || slice->end);
    }
    return is_complete;
  }

  bool is_stopped() const {
    const std::lock_guard lock(guard_);
    return is_stopped_;
  }

  std::shared_ptr<agent_runtime> runtime_;
  const agent_context who_;
  const std::string name_;
  const json input_;
  operation_id id_;
  mutable std::mutex guard_;
  bool is_stopped_ = false;
  std::function<void(actors::work_end)> done_;
};

class background_tool final : public actors::tool_work {
 public:
  explicit background_tool(std::shared_ptr<task_look> look) : look_(std::move(look)) {}
  void start(std::function<void(actors::work_end)> done) override { look_->begin(std::move(done)); }
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
