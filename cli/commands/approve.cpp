// `quell approve`, `quell deny`: a human's decision about a call that waits for it.
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/instant.hpp"
#include "cli/lookup.hpp"
#include "cli/operation_view.hpp"
#include "cli/short_id.hpp"
#include "cli/turn_view.hpp"

namespace quell::cli {

namespace {

using nlohmann::json;

/// Typed as the form declares it: a text field stays text, even if it looks like a number.
json value_for(const json& field, const std::string& typed) {
  if (!field.is_object() || text_of(field, "type") == "string") return typed;
  auto read = json::parse(typed, nullptr, false);
  return read.is_discarded() ? json(typed) : read;
}

/// The answer to the open question of this call. Nobody may answer a question unseen: it must be named.
std::optional<problem> answer_question(const json& call, const approve_options& o, json& body) {
  const auto& question = member(member(call, "tool"), "question");
  if (!question.is_object()) {
    if (!o.question && o.values.empty() && !o.dismiss) return std::nullopt;
    return local_problem(local_code::usage,
                         "the call asks no question (any more): --question, --set and --dismiss are for one");
  }
  const auto id = text_of(question, "id");
  if (!o.question || matching_ids({id}, *o.question).empty()) {
    std::string text = o.question ? "the call does not ask this (any more). It has begun, and waits for an answer:"
                                  : "the call has begun, and waits for an answer:";
    for (const auto& line : question_lines(question)) text += "\n  " + line;
    for (const auto& line : answer_commands(text_of(call, "id"), question)) text += "\n  " + line;
    return local_problem(local_code::usage, text);
  }
  body["question"] = id;
  if (!o.approve) {
    if (o.dismiss) body["dismiss"] = true;
    return std::nullopt;
  }
  body["values"] = json::object();
  for (const auto& pair : o.values) {
    const auto name = pair.substr(0, pair.find('='));
    body["values"][name] =
        value_for(member(member(member(question, "form"), "properties"), name.c_str()), pair.substr(name.size() + 1));
  }
  return std::nullopt;
}

/// The whole of `in`, at most as much as a tool takes.
answer<std::string> all_of(std::istream& in, const std::string& name) {
  constexpr std::size_t most_bytes = 1 << 20;
  std::string text(most_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) return refuse(local_code::usage, "--input: " + name + " cannot be read");
  if (text.size() > most_bytes) return refuse(local_code::usage, "--input: " + name + " has more than 1 MiB");
  return text;
}

/// `typed` is JSON, `@FILE`, or `@-` for standard input.
answer<json> changed_input(const std::string& typed) {
  auto text = answer<std::string>(typed);
  if (typed == "@-") {
    text = all_of(std::cin, "standard input");
  } else if (typed.starts_with('@')) {
    std::ifstream file(typed.substr(1), std::ios::binary);
    if (!file) return refuse(local_code::usage, "--input: there is no file " + typed.substr(1) + " that can be read");
    text = all_of(file, typed.substr(1));
  }
  if (!text) return tl::unexpected(text.error());
  auto input = json::parse(*text, nullptr, false);
  if (!input.is_object())
    return refuse(local_code::usage, "--input must be one JSON object, such as '{\"command\": \"ls\"}'");
  return input;
}

} // namespace

exit_code execute(session& s, const approve_options& o) {
  nlohmann::json input;
  if (o.input) {
    auto read = changed_input(*o.input);
    if (!read) return s.fail(read.error());
    input = std::move(*read);
  }
  auto controller = s.connect();
  if (!controller) return s.fail(controller.error());
  auto id = find_operation(**controller, o.id);
  if (!id) return s.fail(id.error());
  nlohmann::json body = nlohmann::json::object();
  if (o.reason) body["reason"] = *o.reason;
  const auto call = (*controller)->get("/v1/operations/" + *id);
  if (!call) return s.fail(call.error());
  if (const auto wrong = answer_question(*call, o, body)) return s.fail(*wrong);
  if (o.input) body["input"] = std::move(input);
  if (o.always) body["always"] = {{"for_ms", o.always->count()}};
  auto decided = (*controller)->post("/v1/operations/" + *id + (o.approve ? "/approve" : "/deny"), body);
  if (!decided) return s.fail(decided.error());
  if (s.json())
    s.print_document(*decided);
  else
    s.print(short_id(*id) + " " +
            (!o.approve ? "denied: "
             : o.input  ? "approved with another input: "
                        : "approved: ") +
            operation_name(*decided) + "\n");
  return exit_code::done;
}

} // namespace quell::cli
