// Pure text.
#include "controller/ledger/sentences.hpp"

#include <algorithm>
#include <charconv>

#include "controller/json/instant.hpp"

namespace quell::controller::live {

std::string target_text(const records::cancel_target& target) {
  struct say {
    static std::string within(const std::optional<scope_path>& below) {
      return below ? " in scope " + below->text() : std::string();
    }
    std::string operator()(const records::target_operation& t) const { return "operation " + t.id.text(); }
    std::string operator()(const records::target_scope& t) const { return "scope " + t.scope.text(); }
    std::string operator()(const records::target_owner& t) const {
      return "everything of owner " + t.owner + within(t.below);
    }
    std::string operator()(const records::target_everything& t) const { return "everything" + within(t.below); }
  };
  return std::visit(say{}, target);
}

std::string stale_sentence(const records::cancel_record& cancel) {
  std::string text = target_text(cancel.target) + " was cancelled";
  if (cancel.created_at != wall_time{}) text += " at " + http::instant_text(cancel.created_at);
  const std::string& by = cancel.by.name.empty() ? cancel.by.id : cancel.by.name;
  if (!by.empty()) text += " by " + by;
  if (!cancel.reason.empty()) text += ": " + cancel.reason;
  return text + ". Nothing was started.";
}

std::optional<records::operation_error> error_of(const exit_state& exit) {
  if (exit.signal) return records::own_error(failure_code::error, "killed by signal " + *exit.signal);
  const std::int32_t code = exit.code.value_or(0);
  if (code == 0) return std::nullopt;
  return records::own_error(failure_code::error, "exited with code " + std::to_string(code));
}

proof proof_of(containment level) {
  switch (level) {
  case containment::group:
    return proof::group_empty;
  case containment::pidns:
    return proof::pidns_gone;
  case containment::cgroup:
  case containment::cgroup_pidns:
    return proof::cgroup_empty;
  }
  return proof::group_empty;
}

namespace {

/// `message` needs no escapes.
std::string failed_result(failure_code code, const char* message) {
  return R"({"ok":false,"error":{"code":")" + std::string(name_of(code)) + R"(","message":")" + message + R"("}})";
}

std::string stopped_result(const char* message) {
  return R"({"ok":false,"cancelled":true,"error":{"code":")" + std::string(name_of(failure_code::cancelled_by_user)) +
         R"(","message":")" + message + R"("}})";
}

} // namespace

records::call_outcome cancelled_call() { return {false, true, stopped_result("Tool call cancelled by user.")}; }

records::call_outcome call_not_started() {
  return {false, true, stopped_result("Tool call was not started: cancelled by user.")};
}

records::call_outcome interrupted_call() {
  return {false, false,
          failed_result(failure_code::interrupted,
                        "The controller was restarted while the call ran: what it did until then is unknown.")};
}

records::call_outcome late_call(bool has_begun) {
  return {false, false,
          has_begun ? failed_result(failure_code::timeout, "The turn ran out of its time before this call ended.")
                    : failed_result(failure_code::timeout, "Tool call was not started: the turn ran out of its time.")};
}

records::call_outcome unpaid_call(bool has_begun) {
  return {false, false,
          has_begun ? failed_result(failure_code::budget, "The turn's budget was used up before this call ended.")
                    : failed_result(failure_code::budget, "Tool call was not started: the turn's budget was used up.")};
}

records::call_outcome left_call(bool has_begun) {
  return {false, false,
          has_begun ? failed_result(failure_code::interrupted, "The turn ended before this call did.")
                    : failed_result(failure_code::interrupted, "The turn ended; this call was not started.")};
}

std::string_view abort_reason_of(stop_cause cause) {
  switch (cause) {
  case stop_cause::timeout:
    return "timeout";
  case stop_cause::parent_ended:
    return "parent";
  case stop_cause::superseded:
    return "superseded";
  case stop_cause::disconnect:
    return "disconnect";
  case stop_cause::worker_lost:
    return "error";
  case stop_cause::budget:
    return "budget";
  case stop_cause::cancel:
  case stop_cause::drain:
    break;
  }
  return "user";
}

records::call_outcome interrupted_before_start() {
  return {false, false,
          failed_result(failure_code::interrupted, "Tool call was not started: the controller was restarted.")};
}

std::pair<std::string, std::string> approval_reason() {
  return {"approval", "a human must approve or deny it: quell approve, quell deny"};
}

std::pair<std::string, std::string> answer_reason() {
  return {"answer", "it asks a human something: quell show, then quell approve or quell deny with --question"};
}

std::string dropped_question(const operation_id& call, const std::optional<operation_id>& question) {
  return R"({"operation":")" + call.text() + R"(","decision":"cancelled","by":null,"reason":null)" +
         (question ? R"(,"question":")" + question->text() + "\"}" : std::string("}"));
}

namespace {
constexpr std::string_view row_begin = R"({"question":")", row_middle = R"(","asked":)",
                           agents_row_middle = R"(","by":"agent","asked":)";
constexpr std::size_t id_length = 36;
} // namespace

std::string question_row(const paused_question& what) {
  const auto middle = what.who == question_source::agent ? agents_row_middle : row_middle;
  return std::string(row_begin) + what.id.text() + std::string(middle) + what.question_json + "}";
}

std::optional<paused_question> read_question_row(const std::string& result) {
  const std::size_t behind = row_begin.size() + id_length;
  if (!result.starts_with(row_begin) || result.size() < behind) return std::nullopt;
  const auto rest = std::string_view(result).substr(behind);
  const auto who = rest.starts_with(agents_row_middle) ? question_source::agent : question_source::server;
  const auto middle = who == question_source::agent ? agents_row_middle : row_middle;
  if (!rest.starts_with(middle)) return std::nullopt;
  const auto id = operation_id::parse(result.substr(row_begin.size(), id_length));
  if (!id) return std::nullopt;
  const std::size_t from = behind + middle.size();
  return paused_question{*id, result.substr(from, result.size() - from - 1), who};
}

namespace {
constexpr std::string_view resumes_begin = R"({"resumes":)", waits_begin = R"(,"waits":)";

std::uint8_t number_in(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return static_cast<std::uint8_t>(std::min(number, 255U));
}
} // namespace

std::string resumes_row(counted_resumes times) {
  return std::string(resumes_begin) + std::to_string(times.resumes) +
         (times.waits > 0 ? std::string(waits_begin) + std::to_string(times.waits) : "") + "}";
}

counted_resumes read_resumes_row(const std::string& result) {
  if (!result.starts_with(resumes_begin)) return {};
  const std::string_view rest = std::string_view(result).substr(resumes_begin.size());
  const auto waits = rest.find(waits_begin);
  return {number_in(rest),
          waits == std::string_view::npos ? std::uint8_t{0} : number_in(rest.substr(waits + waits_begin.size()))};
}

std::uint64_t fingerprint_hash(const std::string& fingerprint) {
  std::uint64_t hash = 0xcbf29ce484222325ULL; // FNV-1a
  for (const char c : fingerprint) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
  return hash;
}

} // namespace quell::controller::live
