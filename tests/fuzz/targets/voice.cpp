// Bytes of voice clients and of brains: refused with a reason or read as frames that survive being written again, and
// accepted by the gateway's side in any order.
#include "integrations/voice/gateway_side.hpp"
#include "integrations/voice/transcripts.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::integrations::voice;

void frames(std::string_view bytes, direction from, gateway_side& gateway) {
  frame_reader reader(from);
  const auto half = bytes.size() / 2;
  for (const auto piece : {bytes.substr(0, half), bytes.substr(half)}) {
    reader.put(piece);
    for (;;) {
      const auto f = reader.next();
      if (!f) return expect(!f.error().detail.empty() && !reader.next(), "broken frames are refused, and stay refused");
      if (!*f) break;
      expect((*f)->payload.size() <= most_text_bytes, "a payload keeps its limit");
      frame_reader again(from);
      again.put(encode(**f));
      const auto same = again.next();
      expect(same && *same && **same == **f, "a frame that was read is the same when it is written");
      if (from == direction::client_to_gateway)
        gateway.on_client_message(**f);
      else
        gateway.on_brain_message(**f);
      for (const auto& e : gateway.take()) {
        if (const auto* decide_speech = std::get_if<gateway_effects::decide_speech>(&e))
          gateway.on_verdict(decide_speech->n, verdict::passes);
        if (std::holds_alternative<gateway_effects::rest>(e)) gateway.rested();
      }
    }
  }
}

void run(std::string_view bytes) {
  choices from(bytes);
  gateway_side gateway;
  const auto first = from.below(2);
  transcript_reader lines;
  for (const auto& r : lines.read(bytes)) gateway.on_recognised(r);
  for (const auto& e : gateway.take())
    if (const auto* decide_speech = std::get_if<gateway_effects::decide_speech>(&e))
      gateway.on_verdict(decide_speech->n, verdict::passes);
  frames(bytes.substr(std::min<std::size_t>(bytes.size(), 1)),
         first == 0 ? direction::client_to_gateway : direction::brain_to_gateway, gateway);
  if (const auto speech = gateway.speaking()) gateway.chunk(*speech, "sample");
}

std::vector<std::string> seeds() {
  const std::string speech = R"({"text":"hello","final":true,"confidence":0.9,"from":0})"
                             "\n";
  const auto client = encode({tag::audio, "samples "}) + encode({tag::pause, {}}) + encode({tag::cancel, {}}) +
                      encode({tag::choice, "\1"}) + encode({tag::interrupt_speech, {}});
  const auto brain = encode({tag::question, "Shall I?"}) + encode({tag::answer, "[SPEED:1.2] Yes."}) +
                     encode({tag::brain_summary, "All."}) + encode({tag::session_end, {}});
  return {std::string(1, '\0') + client,
          "\1" + brain,
          "\2\n" + speech + client,
          "\1\n" + speech + brain,
          "\2" + encode({tag::hello, R"({"token":"t","scope":"voice/a","humans_present":2})"}),
          "\2\x07\xff\xff\xff\xff"};
}

const known_target known("voice", run, seeds);

} // namespace
} // namespace quell::fuzz
