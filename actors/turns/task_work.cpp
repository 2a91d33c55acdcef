// The life of a call's task, driven by the controller's notices; steps that can wait run as background reads.
#include "actors/turns/task_work.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "actors/turns/json_text.hpp"
#include "actors/turns/live_output.hpp"
#include "actors/turns/predecessor.hpp"
#include "actors/turns/printed.hpp"
#include "actors/turns/project_memory.hpp"
#include "actors/turns/project_reading.hpp"
#include "actors/turns/result_json.hpp"
#include "actors/turns/turn_port.hpp"
#include "actors/turns/turn_workspaces.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/create_local.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t feed_bytes = 128 << 10, most_printed = 4 << 10;
constexpr std::chrono::milliseconds output_look_interval{20};
constexpr int most_output_looks = 150; ///< 3 s for the last bytes of an output
constexpr int most_feeds = 3000;       ///< a minute for a task that does not read

} // namespace

void task_run::start(create_order order, std::function<void(task_end)> done) {
  done_ = std::move(done);
  id_ = operation_id::fresh();
  order.kind = kind::task;
  order.task = what_.spec;
  order.timeout = what_.timeout;
  if (!what_.workspace) return follow(std::move(order));
  const auto call = order.parent.value_or(id_);
  what_.workspace->place(what_.spec, call, [self = shared_from_this(), order](const result<task_spec>& placed) {
    self->post_([self, order, placed]() mutable {
      if (!placed) return self->refuse(placed.error());
      self->what_.spec = *placed;
      order.task = *placed;
      self->follow(std::move(order));
    });
  });
}

void task_run::follow(create_order order) {
  if (!what_.follows) return go_on(std::move(order));
  wait_for_predecessor(
      runtime_, *what_.follows, what_.spec,
      [self = shared_from_this(), order = std::move(order)](const std::optional<std::string>& still_lives) {
        self->post_([self, order, still_lives] {
          if (!still_lives) return self->go_on(order);
          self->refuse(
              failure_of(failure_code::workspace_busy,
                         "nothing was started, because stopped work still lives in this workspace: " + *still_lives));
        });
      });
}

void task_run::go_on(create_order order) {
  const auto named = what_.spec.worker;
  if (!named || !runtime_->core.knows_worker) return create(std::move(order));
  // A task for a worker that is not enrolled would wait for ever, and its call with it.
  runtime_->core.knows_worker(
      *named, [self = shared_from_this(), order = std::move(order), worker = *named](bool is_known) {
        self->post_([self, order, worker, is_known] {
          if (is_known) return self->create(order);
          self->refuse(
              coded_fault{error_code::no_such_worker, "there is no worker " + worker + "; nothing was started", {}});
        });
      });
}

void task_run::create(create_order order) {
  runtime_->registry.add_watcher(id_, shared_from_this());
  runtime_->core.execute(
      {commands::create_local{std::move(order), id_}, [self = shared_from_this()](const outcome<created>& made) {
         if (made) return;
         self->runtime_->registry.drop(self->id_);
         self->post_([self, why = made.error().error] { self->refuse(why); });
       }});
}

void task_run::refuse(const fault& why) {
  task_end end;
  end.how = {id_, status::failed};
  end.refused = why;
  finish(std::move(end));
}

void task_run::adopt(const operation_id& task, std::function<void(task_end)> done) {
  done_ = std::move(done);
  id_ = task;
  runtime_->registry.add_watcher(id_, shared_from_this());
  // Its start or its end can have come before the watcher.
  runtime_->core.ask([self = shared_from_this()](const ledger& l, moment now) -> std::function<void()> {
    const auto seen = l.view(self->id_, now);
    if (!seen)
      return [self] { self->runtime_->background_reads->run([self](store_reader& store) { self->look_up(store); }); };
    if (!seen->hot.started_at) return [] {};
    return [self, worker = seen->hot.worker.value_or("")] { self->started(worker); };
  });
}

void task_run::look_up(store_reader& store) {
  const auto row = store.operation(id_);
  const bool is_there = row && *row;
  if (is_there && !is_terminal((*row)->hot.now)) return; // its end is not on disk yet, and will be announced
  runtime_->registry.drop(id_);
  if (is_there) return ended({id_, (*row)->hot.now, (*row)->hot.exit, (*row)->hot.error});
  ended({id_, status::failed, {}, records::own_error(failure_code::interrupted, "its task is not known any more")});
}

/// The workspace hears of its tasks even if nobody waits for their results any more.
void task_run::started(const std::string& worker) {
  if (what_.workspace) what_.workspace->began(what_.spec);
  post_([self = shared_from_this(), worker] { self->begun(worker); });
}

void task_run::begun(const std::string& worker) {
  if (std::exchange(has_begun_, true)) return;
  if (when_started_) when_started_(id_);
  if (what_.spec.stdin_open) feed(worker, 0, most_feeds, milliseconds{0});
}

void task_run::feed(const std::string& worker, std::uint64_t from, int tries, milliseconds wait) {
  if (is_over_) return;
  runtime_->background_reads->run_after(wait, [self = shared_from_this(), worker, from, tries](store_reader&) {
    const auto& text = self->what_.stdin_text;
    const auto piece = text.substr(std::min<std::size_t>(from, text.size()), feed_bytes);
    const bool is_last = from + piece.size() >= text.size();
    const auto then = is_last ? stdin_then::closed : stdin_then::open;
    const auto taken = self->runtime_->output->input(self->id_, worker, from, piece, then);
    if (taken && is_last) return;
    if (!taken && (!has_code(taken.error(), error_code::rate_limited) || tries == 0))
      return; // it no longer reads, or has ended
    self->post_([self, worker, next = taken ? *taken : from, left = taken ? tries : tries - 1,
                 wait = taken ? milliseconds{0} : milliseconds{output_look_interval}] {
      self->feed(worker, next, left, wait);
    });
  });
}

void task_run::ended(const ended_operation& e) {
  if (runtime_->project && !what_.writes_into.empty()) runtime_->project->changed(what_.writes_into);
  if (what_.workspace) what_.workspace->ended(what_.spec, e.error ? e.error->code : std::string(), e.exit.has_value());
  post_([self = shared_from_this(), e] {
    if (std::exchange(self->is_over_, true)) return;
    self->runtime_->background_reads->run([self, e](store_reader&) { self->collect(e, most_output_looks); });
  });
}

/// Head and tail of a stream; the bytes between are counted.
std::uint64_t task_run::read(stream which, std::string& into, bool& is_complete) {
  const auto most = what_.most_output;
  const auto head = runtime_->output->read(id_, which, 0, most / 2);
  is_complete = true;
  if (!head) return 0;
  into = head->bytes;
  std::uint64_t at = head->offset + head->bytes.size();
  std::uint64_t missing = head->dropped;
  is_complete = head->end;
  if (head->end || head->bytes.empty()) return missing;
  if (head->size > at + most / 2) {
    missing += head->size - most / 2 - at;
    at = head->size - most / 2;
  }
  while (into.size() < most) {
    const auto more = runtime_->output->read(id_, which, at, most - into.size());
    if (!more) break;
    is_complete = more->end;
    if (more->bytes.empty()) break;
    into += more->bytes;
    at = more->offset + more->bytes.size();
    if (more->end) break;
  }
  return missing;
}

void task_run::collect(const ended_operation& how, int tries) {
  task_end end;
  bool out_complete = false, err_complete = false;
  end.dropped_bytes = read(stream::out, end.out, out_complete) + read(stream::err, end.err, err_complete);
  if ((!out_complete || !err_complete) && tries > 0)
    return runtime_->background_reads->run_after(
        output_look_interval,
        [self = shared_from_this(), how, tries](store_reader&) { self->collect(how, tries - 1); });
  end.how = how;
  post_([self = shared_from_this(), end = std::move(end)]() mutable { self->finish(std::move(end)); });
}

void task_run::finish(task_end end) {
  is_over_ = true;
  if (const auto done = std::exchange(done_, nullptr)) done(std::move(end));
}

/// The text for a task that never ran, or whose end contains no exit.
static std::string result_text_of(const task_end& end, const json_result_texts& texts) {
  if (end.refused) return texts.failed(end.refused->code, end.refused->detail);
  if (end.how.error) return texts.failed(end.how.error->code, end.how.error->message);
  return texts.failed(failure_code::cancelled, "the task was stopped: it ended as " + std::string(name_of(end.how.as)));
}

/// The output that a command had printed before its worker was lost is all that is known of it.
static std::string with_output_of(const task_end& end, const std::string& result) {
  if (end.out.empty() && end.err.empty()) return result;
  bool was_cut = end.dropped_bytes > 0;
  const auto out = bounded_text(end.out, most_printed, was_cut), err = bounded_text(end.err, most_printed, was_cut);
  return with_printed(result, json_text({{"stdout", out}, {"stderr", err}, {"truncated", was_cut}}));
}

actors::work_end end_of(const task_end& end, const tool_definition& tool, const json_result_texts& texts) {
  if (!end.refused && end.how.as == status::cancelled) return {false, texts.cancelled(), true};
  const bool never_ran =
      end.how.error && has_code(*end.how.error, failure_code::start_failed) && tool.offer.name == "exec";
  const bool filled = end.how.error && has_code(*end.how.error, failure_code::workspace_full);
  if (!end.how.exit && !never_ran && tool.offer.name == "exec")
    return {false, with_output_of(end, result_text_of(end, texts))};
  if (!end.how.exit || never_ran || (filled && tool.offer.name != "exec")) return {false, result_text_of(end, texts)};
  const auto note = filled ? end.how.error->message : note_of_left(end.how.left_total, end.how.left);
  auto outcome = call_outcome_of(tool, *end.how.exit, end.out, end.err, end.dropped_bytes, note);
  return {outcome.ok, std::move(outcome.result)};
}

namespace {

class task_work final : public actors::tool_work {
 public:
  task_work(std::shared_ptr<agent_runtime> runtime, create_order order, tool_definition tool, task_request what,
            std::shared_ptr<live_output> live)
      : runtime_(std::move(runtime)), order_(std::move(order)), tool_(std::move(tool)), what_(std::move(what)),
        live_(std::move(live)) {}

  void start(actors::step_poster post, std::function<void(actors::work_end)> done) override {
    auto run = std::make_shared<task_run>(runtime_, std::move(what_), std::move(post));
    if (live_) run->when_started([live = live_](const operation_id& task) { live->follow(task); });
    run->start(std::move(order_),
               [done = std::move(done), tool = tool_, texts = runtime_->texts, live = live_](const task_end& end) {
                 if (live) live->end();
                 done(end_of(end, tool, *texts));
               });
  }
  void stop(const std::string&) override {}

 private:
  std::shared_ptr<agent_runtime> runtime_;
  create_order order_;
  tool_definition tool_;
  task_request what_;
  std::shared_ptr<live_output> live_; ///< none: nobody is shown what it prints
};

class known_answer final : public actors::tool_work {
 public:
  explicit known_answer(actors::work_end what) : what_(std::move(what)) {}
  void start(actors::step_poster, std::function<void(actors::work_end)> done) override { done(what_); }
  void stop(const std::string&) override {}

 private:
  actors::work_end what_;
};

} // namespace

std::unique_ptr<actors::tool_work> make_answer(actors::work_end what) {
  return std::make_unique<known_answer>(std::move(what));
}

create_order order_for_call(const agent_context& who, const operation_id& call, const tool_call& what,
                            task_request& request) {
  // The turn enforces the call's timeout; the task has no shorter one.
  request.timeout = milliseconds{0};
  request.follows = predecessor{who.scope, who.root, call};
  request.writes_into = project_written_by(what.name, who.agent, who.scope);
  if (who.workspaces) request.workspace = who.workspaces->placer(who.agent);
  create_order order;
  order.by = agent_runtime::acting_for(who.owner);
  order.parent = call;
  order.name = request.spec.command.front().substr(request.spec.command.front().rfind('/') + 1);
  order.title = what.name;
  return order;
}

std::unique_ptr<actors::tool_work> make_task_work(std::shared_ptr<agent_runtime> runtime, const agent_context& who,
                                                  const operation_id& call, const tool_definition& tool,
                                                  const tool_call& what, std::shared_ptr<file_versions> files) {
  if (is_file_tool(what.name))
    if (const auto file = file_of_call(who.agent, what.input); !file.empty())
      return make_file_work(std::move(runtime), who, call, tool, what, file, std::move(files));
  auto request = task_for_call(tool, who.agent, what.input);
  if (!request) return make_answer({false, runtime->texts->failed(request.error().code, request.error().detail)});
  if (request->background) return make_background_work(std::move(runtime), who, call, what, std::move(*request));
  auto order = order_for_call(who, call, what, *request);
  std::shared_ptr<live_output> live;
  if (what.name == "exec" && runtime->tell_live) live = std::make_shared<live_output>(runtime, who, call, what);
  return std::make_unique<task_work>(std::move(runtime), std::move(order), tool, std::move(*request), std::move(live));
}

} // namespace quell::controller::turns
