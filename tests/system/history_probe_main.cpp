// Conversations as GET /v1/messages shows them, one JSON per line on stdin: each becomes the next request to a model,
// through the production code; it must be whole, and both providers' request bodies must keep their rules.
//
// Prints a line for each: `ok N` (messages shown to the model), or the violation. For tests.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "actors/turns/history.hpp"
#include "integrations/models/message_rules.hpp"
#include "integrations/models/translator.hpp"

using namespace quell;
using nlohmann::json;

namespace {

records::message_role role_of(const std::string& name) {
  if (name == "user") return records::message_role::user;
  return name == "assistant" ? records::message_role::assistant : records::message_role::tool;
}

std::string text_of(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<records::kept_message> read(const json& shown) {
  std::vector<records::kept_message> kept;
  for (const auto& m : shown.at("messages")) {
    records::kept_message k;
    k.message.seq = m.at("seq");
    k.message.role = role_of(m.at("role"));
    k.message.turn = operation_id::parse(m.at("turn").get<std::string>());
    k.message.text = m.at("text");
    k.message.interrupted = m.at("interrupted");
    k.message.discarded = m.at("discarded");
    if (m.contains("steered_from")) k.message.decision = json{{"steered_from", m.at("steered_from")}}.dump();
    for (const auto& c : m.at("tool_calls")) {
      records::call_record call;
      call.call = c.at("call");
      call.name = c.at("name");
      call.input = text_of(c.at("input"));
      k.calls.push_back(call);
    }
    for (const auto& r : m.at("results")) {
      records::call_record call;
      call.call = r.at("call");
      call.name = r.at("name");
      call.outcome = records::call_outcome{r.at("ok"), r.at("cancelled"), text_of(r.at("result"))};
      k.calls.push_back(call);
    }
    kept.push_back(std::move(k));
  }
  return kept;
}

/// The translation repairs its input, so the input is judged first: each call has its result, immediately and in order.
std::string broken_conversation(const conversation& messages) {
  const assistant_message* open = nullptr;
  for (const auto& m : messages) {
    const auto* results = std::get_if<tool_results>(&m);
    if ((results != nullptr) != (open != nullptr)) return open ? "calls without results" : "results without calls";
    if (results) {
      if (results->results.size() != open->calls.size()) return "calls and results are not as many";
      for (std::size_t i = 0; i < open->calls.size(); ++i)
        if (results->results[i].call != open->calls[i].call)
          return "result " + std::to_string(i) + " names another call";
    }
    const auto* answer = std::get_if<assistant_message>(&m);
    open = answer && !answer->calls.empty() ? answer : nullptr;
  }
  return {};
}

std::string decided_json(const std::string& line) {
  auto kept = read(json::parse(line));
  records::kept_message next;
  next.message.seq = kept.empty() ? 1 : kept.back().message.seq + 1; // as in a store, where no row has the number 0
  next.message.turn = operation_id::fresh();
  next.message.text = "and what now?";
  kept.push_back(next);
  const auto for_model = controller::turns::history_for(kept, *next.message.turn);
  if (const auto wrong = broken_conversation(for_model.messages); !wrong.empty()) return "conversation: " + wrong;
  integrations::model_settings settings;
  settings.name = settings.model = "m";
  model_request request{"You help.", for_model.messages, {}};
  for (const bool is_anthropic : {true, false}) {
    settings.provider = is_anthropic ? integrations::provider::anthropic : integrations::provider::openai;
    const auto made = is_anthropic ? integrations::anthropic_request(settings, request)
                                   : integrations::openai_request(settings, request);
    const std::string whose = is_anthropic ? "anthropic: " : "openai: ";
    if (!made) return whose + made.error().detail;
    if (const auto wrong = integrations::broken_rule(settings.provider, made->body)) return whose + *wrong;
  }
  return "ok " + std::to_string(for_model.messages.size());
}

} // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    try {
      std::puts(decided_json(line).c_str());
    } catch (const std::exception& e) {
      std::printf("unreadable: %s\n", e.what());
    }
  }
  return 0;
}
