// MCP servers and ACP agents that send any bytes, in any pieces: every call and every prompt still ends exactly once,
// and the kept text is bounded.
#include <map>

#include "integrations/acp/acp_session.hpp"
#include "integrations/mcp/session.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::integrations;

constexpr std::size_t most_result = 1 << 20;

/// Counts the ends of each call.
class mcp_world {
 public:
  mcp_world() : session_("server") { session_.start(); }

  void step(choices& from) {
    switch (from.below(6)) {
    case 0:
      session_.list_tools();
      ++lists_requested_;
      break;
    case 1:
      ends_[session_.begin_call("echo", R"({"message":"x"})")];
      break;
    case 2:
      if (!ends_.empty()) session_.cancel(std::next(ends_.begin(), from.below(ends_.size()))->first, "enough");
      break;
    case 3:
      if (!ends_.empty()) session_.stop_waiting(std::next(ends_.begin(), from.below(ends_.size()))->first);
      break;
    default:
      session_.receive(std::string(from.text()) + (from.yes() ? "\n" : ""));
    }
    take();
  }

  void finish() {
    session_.close("exited");
    take();
    for (const auto& [call, ends] : ends_) expect(ends == 1, "a call ends exactly once");
    expect(lists_requested_ == 0 || lists_changed_ > 0, "who asks for tools is answered");
  }

 private:
  void take() {
    for (auto& effect : session_.effects()) {
      if (const auto* t = std::get_if<mcp_effects::tell>(&effect)) {
        if (!is_end(t->event)) continue;
        ++ends_[t->call];
        if (const auto* f = std::get_if<mcp_call_events::finished>(&t->event))
          expect(f->result.size() <= most_result && is_utf8(f->result), "a result is bounded and UTF-8");
      } else if (const auto* l = std::get_if<mcp_effects::late>(&effect)) {
        ++ends_[l->call];
      } else if (const auto* all = std::get_if<mcp_effects::list>(&effect)) {
        ++lists_changed_;
        if (all->tools) expect(all->tools->size() <= 1000, "tools are at most 1,000");
      } else if (const auto* s = std::get_if<mcp_effects::send>(&effect)) {
        expect(!s->bytes.empty() && s->bytes.back() == '\n', "whole lines are sent");
      }
    }
  }

  mcp_session session_;
  std::map<mcp_call_number, int> ends_;
  int lists_requested_ = 0, lists_changed_ = 0;
};

void mcp(choices from) {
  mcp_world world;
  for (int i = 0; i < 200 && !from.at_end(); ++i) world.step(from);
  world.finish();
}

void acp(choices from) {
  acp_session session("agent", "/srv");
  session.start();
  int prompts = 0, ends = 0;
  std::vector<std::uint64_t> questions;
  const auto take = [&] {
    for (auto& effect : session.effects()) {
      if (std::holds_alternative<acp_effects::finished>(effect) ||
          std::holds_alternative<acp_effects::failed>(effect) || std::holds_alternative<acp_effects::late>(effect))
        ++ends;
      if (const auto* p = std::get_if<acp_effects::permission>(&effect)) questions.push_back(p->number);
      if (const auto* t = std::get_if<acp_effects::text>(&effect)) expect(is_utf8(t->delta), "a text is UTF-8");
    }
  };
  for (int i = 0; i < 200 && !from.at_end(); ++i) {
    switch (from.below(6)) {
    case 0:
      session.prompt("do it");
      ++prompts;
      break;
    case 1:
      session.cancel();
      break;
    case 2:
      if (!questions.empty()) session.permit(questions[from.below(questions.size())], std::string(from.text()));
      break;
    case 3:
      session.stop_waiting();
      break;
    default:
      session.receive(std::string(from.text()) + (from.yes() ? "\n" : ""));
    }
    take();
  }
  session.close("exited");
  take();
  expect(ends == prompts, "a prompt ends exactly once");
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  if (bytes.front() & 1)
    mcp(choices(bytes.substr(1)));
  else
    acp(choices(bytes.substr(1)));
}

std::vector<std::string> seeds() {
  const auto frame_of = [](choice_writer& to, std::string_view line) { to.byte(4).piece(line).byte(1); };
  choice_writer mcp_talk;
  mcp_talk.byte(1).byte(0).byte(1);
  frame_of(
      mcp_talk,
      R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}})");
  frame_of(mcp_talk,
           R"({"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}})");
  frame_of(mcp_talk, R"({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}]}})");
  frame_of(mcp_talk, R"({"jsonrpc":"2.0","id":9,"method":"ping"})");
  choice_writer acp_talk;
  acp_talk.byte(0).byte(0);
  frame_of(acp_talk, R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}})");
  frame_of(acp_talk, R"({"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}})");
  frame_of(
      acp_talk,
      R"({"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}})");
  frame_of(acp_talk, R"({"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}})");
  return {mcp_talk.done(), acp_talk.done(), "\1\4\2[]\1", std::string("\0\4\2{}\1", 5)};
}

const known_target known("tool_servers", run, seeds);

} // namespace
} // namespace quell::fuzz
