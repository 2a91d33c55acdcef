// Applies a human's decision about a call (whether it may begin), or a human's answer to its question.
#include "actors/turns/decisions.hpp"

#include <nlohmann/json.hpp>

#include "actors/turns/approvers.hpp"
#include "actors/turns/ask_user.hpp"
#include "actors/turns/changed_input.hpp"
#include "actors/turns/json_text.hpp"
#include "actors/turns/operation_pages.hpp"
#include "actors/turns/turn_json.hpp"
#include "controller/commands/answer_question.hpp"
#include "controller/commands/command_request.hpp"
#include "controller/commands/decide_call.hpp"
#include "controller/refused_with.hpp"
#include "integrations/mcp/form.hpp"

namespace quell::controller::turns {

namespace {

using runtime_ref = std::shared_ptr<agent_runtime>;

constexpr std::chrono::milliseconds scheduler_look_interval{20};
constexpr int most_scheduler_looks = 250; ///< 5 s for a call that waits for a human to get its agent again

/// The input that the call's agent wrote.
std::string own_input(const records::operation_record& call) {
  const auto block = nlohmann::json::parse(call.kind_data, nullptr, false);
  return block.is_object() && block.contains("input") ? json_text(block["input"]) : std::string();
}

/// A rule that denies can have come with a reload while the call waited.
std::optional<refusal> why_denied_now(actors::agent_port& port, const std::string& tool, const std::string& input) {
  const auto traits = port.traits({{}, tool, input});
  if (!traits.unusable || !has_code(*traits.unusable, failure_code::denied)) return std::nullopt;
  return refusal{coded_fault{error_code::forbidden, traits.unusable->detail + ". Nothing was decided", {}}, {}, {}};
}

/// Why the call must not run with this input; nullopt: it may. The rules that deny hold for approvers, too.
std::optional<refusal> why_not_with(actors::agent_port& port, const std::string& tool, const std::string& input) {
  const auto traits = port.traits({{}, tool, input});
  if (!traits.unusable) return std::nullopt;
  const auto code =
      has_code(*traits.unusable, failure_code::denied) ? error_code::forbidden : error_code::invalid_field;
  return refusal{
      coded_fault{code, traits.unusable->detail + ". Nothing was decided", "/input" + traits.unusable->pointer},
      {},
      {}};
}

/// `tool`, `input`: of the call; needed if `d` approves.
void decide_soon(const runtime_ref& runtime, operation_id call, decision d, const std::string& tool,
                 const std::string& input, int tries, reply<outcome<operation_id>> done) {
  const auto agent = runtime->registry.agent_of_call(call); // the end of a denied call removes it from the registry
  const auto port = d.is_approved() ? runtime->registry.port_of_call(call) : nullptr;
  if (port)
    if (auto why = d.input.empty() ? why_denied_now(*port, tool, input) : why_not_with(*port, tool, d.input))
      return done(tl::unexpected<refusal>(std::move(*why)));
  const bool has_agent = agent != nullptr && (!d.is_approved() || port != nullptr);
  auto recorded = d;
  recorded.event_data = approval_resolved(call, d.outcome, d.by, d.reason, {}, d.input).data;
  recorded.changed = d.input.empty() ? std::string() : changed_text(d.input, d.by);
  const records::call_outcome not_approved{false, false, runtime->texts->not_approved(d.outcome, d.reason)};
  runtime->core.execute(
      {commands::decide_call{call, std::move(recorded), not_approved, has_agent},
       [runtime, call, d, tool, input, tries, agent,
        done = std::move(done)](const std::optional<outcome<operation_id>>& decided) {
         if (decided) {
           if (*decided && agent)
             agent->decide(call, d.outcome, d.reason, d.input.empty() ? std::nullopt : std::optional(d.input));
           return done(*decided);
         }
         // After a restart: its agent is still being resumed.
         if (tries == 0)
           return done(
               refused_with(error_code::not_ready,
                            "its turn is still being picked up after a restart; nothing was decided, try again"));
         runtime->background_reads->run_after(scheduler_look_interval,
                                              [runtime, call, tool, input, tries, d, done](store_reader&) {
                                                decide_soon(runtime, call, d, tool, input, tries - 1, done);
                                              });
       }});
}

} // namespace

void decide_call(const runtime_ref& runtime, operation_id call, decision d, reply<outcome<operation_id>> done) {
  if (!d.is_approved()) return decide_soon(runtime, call, std::move(d), {}, {}, most_scheduler_looks, std::move(done));
  // The rules of now judge its input, and its tool judges another one.
  runtime->priority_reads->run([runtime, call, d = std::move(d), done = std::move(done)](store_reader& store) mutable {
    const auto row = store.operation(call);
    if (!row) return done(refused_with(error_code::storage_unavailable, row.error().detail));
    if (!*row) return done(refused_with(error_code::operation_not_found, "there is no operation " + call.text()));
    decide_soon(runtime, call, std::move(d), (*row)->name, own_input(**row), most_scheduler_looks, std::move(done));
  });
}

/// Values that do not fit the question leave it open. The asking side gets the answer once it is durable that this
/// answer counts.
void answer_question(const runtime_ref& runtime, operation_id call, human_answer given,
                     reply<outcome<operation_id>> done) {
  const auto open = runtime->questions.find(given.question);
  if (!open || open->call != call)
    return done(refused_with(error_code::not_paused, "operation " + call.text() + " does not ask this (any more)"));
  if (given.accepts) {
    auto filled = integrations::filled_form(open->form, given.values);
    if (!filled)
      return done(refused_with(error_code::invalid_values,
                               filled.error().detail + ". The question stays open: quell approve " + call.text() +
                                   " --question " + given.question.text() + " --set NAME=VALUE",
                               "/values" + filled.error().pointer));
    given.values = std::move(*filled);
  }
  given.event_data =
      approval_resolved(call, approved_or_denied(given.accepts), given.by, given.reason, given.question).data;
  auto end = open->who == question_source::agent ? std::optional(end_by_answer(given)) : std::nullopt;
  runtime->core.execute({commands::answer_question{call, given, std::move(end)},
                         [runtime, call, given, done = std::move(done)](const outcome<operation_id>& decided) {
                           if (decided) tell_answered(*runtime, call, given);
                           done(decided);
                         }});
}

void tell_answered(agent_runtime& runtime, const operation_id& call, const human_answer& given) {
  const auto open = runtime.questions.find(given.question);
  if (!open) return; // its agent has read the end of the call, or was stopped
  if (const auto agent = runtime.registry.agent_of_call(call)) agent->waits(call, actors::human_wait::ends);
  if (open->answered) return open->answered(given);
  runtime.questions.drop(given.question); // the call has ended with this answer, and its agent finds it so
}

/// A call that waits for a human has a row with its place and the author of the request.
void decide_in_chat(const runtime_ref& runtime, operation_id call, decision d, chat_approver who,
                    reply<outcome<operation_id>> done) {
  runtime->priority_reads->run(
      [runtime, call, d = std::move(d), who = std::move(who), done = std::move(done)](store_reader& store) mutable {
        // Chats name the target by one id: that of a call that waits to begin, or that of a running call's question.
        const auto open_question = runtime->questions.find(call);
        const auto question = open_question ? std::optional(std::exchange(call, open_question->call)) : std::nullopt;
        const auto row = store.operation(call);
        if (!row) return done(refused_with(error_code::storage_unavailable, row.error().detail));
        if (!*row)
          return done(refused_with(error_code::operation_not_found, "nothing of that id waits for approval here"));
        const auto turn = turn_above(store, (*row)->parent);
        if (auto why = why_not_decide(runtime->settings->chat, who, **row, turn ? account_in(turn->kind_data) : ""))
          return done(tl::unexpected<refusal>(refusal{std::move(*why), {}, {}}));
        auto in_words = [done = std::move(done)](outcome<operation_id> decided) {
          if (!decided) decided.error().error = in_words_of_chat(std::move(decided.error().error));
          done(std::move(decided));
        };
        const bool accepts = d.is_approved();
        if (question)
          answer_question(runtime, call, {*question, accepts, false, {}, std::move(d.reason), std::move(d.by), {}},
                          std::move(in_words));
        else
          decide_call(runtime, call, std::move(d), std::move(in_words));
      });
}

} // namespace quell::controller::turns
