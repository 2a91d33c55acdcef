// A remote agent of A2A that sends any card, tasks and events: what is kept is bounded and UTF-8, a final state stands,
// and no card leads the token elsewhere.
#include "integrations/a2a/card.hpp"
#include "integrations/a2a/limits.hpp"
#include "integrations/a2a/task_view.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::integrations;

const std::string home = "https://agents.example.com/far";

void look_at_card(const json& card) {
  const auto read = a2a::read_card(card, "far", home);
  if (!read) return;
  expect(a2a::origin_of(read->url) == "https://agents.example.com:443", "the token stays with its server");
  expect(read->tool.description.size() <= 64 << 10 && is_utf8(read->tool.description), "a description is bounded");
}

void look_at_task(choices from) {
  a2a::task_view view;
  for (int i = 0; i < 100 && !from.at_end(); ++i) {
    const auto what = parse_json(from.text());
    if (!what) continue;
    const auto before = view.state();
    const auto id = view.id();
    view.take(*what);
    expect(!a2a::is_final(before) || view.state() == before, "a final state stands");
    expect(id.empty() || view.id() == id, "a task keeps its name");
    expect(view.id().size() <= a2a_limits::id_bytes && view.context().size() <= a2a_limits::id_bytes, "ids are short");
    if (!view.is_over()) continue;
    const auto end = view.end();
    expect(is_utf8(end.result), "a result is UTF-8");
    expect(end.result.size() <= 8 * a2a_limits::text_bytes, "a result is bounded");
    expect(end.media.size() <= 10, "files are few");
  }
}

void run(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto rest = bytes.substr(1);
  if (bytes.front() & 1) return look_at_task(choices(rest));
  if (const auto card = parse_json(rest)) look_at_card(*card);
  const auto order = a2a::read_order(std::string(rest));
  expect(!order || !order->message.empty(), "an order has a message");
}

std::vector<std::string> seeds() {
  choice_writer tasks;
  tasks.byte(1);
  tasks.piece(R"({"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}})");
  tasks.piece(
      R"({"artifactUpdate":{"taskId":"t","append":true,"artifact":{"artifactId":"a","parts":[{"text":"x"},{"data":[1]},{"raw":"aGk=","mediaType":"image/png"},{"url":"http://h/f"}]}}})");
  tasks.piece(
      R"({"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED","message":{"parts":[{"text":"done"}]}}}})");
  return {
      tasks.done(),
      std::string("\0", 1) +
          R"({"name":"n","description":"d","supportedInterfaces":[{"url":"https://agents.example.com/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[{"name":"s","description":"d"}],"capabilities":{"streaming":true}})",
      std::string("\0", 1) + R"({"message":"m","conversation":"c","task":"t"})"};
}

const known_target known("remote_agent", run, seeds);

} // namespace
} // namespace quell::fuzz
