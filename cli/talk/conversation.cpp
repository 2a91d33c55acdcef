// Performs the effects of the client's side.
#include "cli/talk/conversation.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "integrations/voice/words.hpp"

namespace quell::cli {

namespace voices = integrations::voice;
namespace does = voices::client_effects;

conversation::conversation(session& s, std::unique_ptr<frame_stream> to, hooks h)
    : s_(s), to_(std::move(to)), hooks_(std::move(h)) {}

bool conversation::begin(const std::string& hello, milliseconds allowance) {
  to_->begin({[this](const voices::frame& f) { take(f); },
              [this](const problem& why) {
                if (is_over_) return;
                if (hooks_.before_line) hooks_.before_line();
                s_.say(why);
                end(exit_of_problem(why));
              }});
  to_->send({voices::tag::hello, hello});
  bool is_late = false;
  const auto timer = s_.loop.after(allowance, [&is_late] { is_late = true; });
  s_.loop.run_until([&] { return is_ready_ || is_over_ || is_late; });
  s_.loop.forget(timer);
  if (is_late && !is_ready_ && !is_over_) {
    note("the voice gateway does not answer");
    end(exit_code::unreachable);
  }
  return is_ready_ && !is_over_;
}

void conversation::end(exit_code code) {
  if (std::exchange(is_over_, true)) return;
  code_ = code;
}

void conversation::note(const std::string& text) {
  if (hooks_.before_line) hooks_.before_line();
  if (s_.json())
    s_.print_line({{"type", "notice"}, {"text", text}});
  else
    s_.warn(text);
}

void conversation::take(const voices::frame& f) {
  if (is_over_) return;
  is_ready_ = is_ready_ || f.tag == voices::tag::ready;
  client_.on_gateway_message(f);
  perform();
  if (hooks_.after && !is_over_) hooks_.after(f);
}

void conversation::perform() {
  for (const auto& e : client_.take()) std::visit([this](const auto& one) { perform(one); }, e);
}

void conversation::perform(const does::send& e) {
  was_cancelled_ = was_cancelled_ || e.what.tag == voices::tag::cancel;
  to_->send(e.what);
}

void conversation::perform(const does::play& e) {
  has_spoken_ = true;
  hooks_.play(e.samples);
}

void conversation::perform(const does::silence&) { hooks_.silence(); }

void conversation::perform(const does::show& e) {
  was_cancelled_ = was_cancelled_ || e.text == voices::stopped_notice;
  if (hooks_.hearing && e.text.starts_with(voices::hearing_prefix))
    return hooks_.hearing(e.text.substr(voices::hearing_prefix.size()));
  if (!e.text.starts_with(voices::you_prefix) && !e.text.starts_with(voices::ai_prefix)) return note(e.text);
  if (hooks_.before_line) hooks_.before_line();
  if (s_.json()) return s_.print_line({{"type", "said"}, {"text", e.text}});
  for (std::string_view rest = e.text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    s_.print(printable(rest.substr(0, end)) + "\n");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::fflush(stdout); // also in a pipe, what was said is read while the answer is spoken
}

void conversation::perform(const does::show_menu& e) {
  if (e.which == voices::menu::before_speech) note("[1] Continue  [2] Retry  [3] Replay  [4] Cancel");
  if (e.which == voices::menu::after_speech && hooks_.hearing) note("[3] Replay  [4] Cancel");
}

void conversation::perform(const does::refused& e) {
  const auto why = nlohmann::json::parse(e.json, nullptr, false);
  const auto code = why.is_object() ? text_of(why, "code") : std::string();
  note(why.is_object() ? text_of(why, "detail") : e.json);
  end(code == "unauthorized" ? exit_code::forbidden : exit_code::refused);
}

} // namespace quell::cli
