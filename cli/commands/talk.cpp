// `quell talk`: a spoken conversation.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/talk/file_talk.hpp"
#include "cli/talk/live_talk.hpp"
#include "cli/talk/voice_address.hpp"
#include "cli/talk/wav.hpp"
#include "cli/turn_stream.hpp"

namespace quell::cli {
namespace {

constexpr std::size_t most_wav_bytes = 64 << 20;
constexpr milliseconds connect_timeout{10'000};

/// --voice, otherwise the address that a quelld on this machine wrote beside its HTTP address. TLS is as for HTTP.
answer<voice_address> gateway_address(session& s, const talk_options& o, const answer<connection>& known) {
  constexpr std::string_view encrypted = "https://";
  if (o.voice) {
    auto named = read_voice_address(*o.voice, known && known->url.starts_with(encrypted));
    if (!named)
      return refuse(local_code::usage, "--voice " + *o.voice + " is not HOST:PORT, tls://HOST:PORT or tcp://HOST:PORT");
    return *named;
  }
  for (const auto& directory : state_directories(s.globals.where, s.env)) {
    const auto text = file_text(directory + "/client.json", 64 << 10);
    const auto reply_json = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    if (!reply_json.is_object()) continue;
    const auto at = read_voice_address(text_of(reply_json, "voice"), text_of(reply_json, "url").starts_with(encrypted));
    if (at) return *at;
    return refuse(local_code::unreachable,
                  "the quelld of " + directory +
                      " serves no voice; set [voice] listen in its configuration (docs/voice.md)");
  }
  return refuse(local_code::unreachable,
                "no quelld is known on this machine; name its voice gateway with --voice HOST:PORT");
}

/// Why these keys cannot be used together; "" = they can. A key of the keyboard is also the terminal's of the same
/// name.
std::string wrong_hotkeys(const live_settings& how, char talk, char cancel, bool is_file) {
  constexpr std::string_view taken = "1234q";
  const auto character = [](const std::optional<hotkey>& key) {
    return key ? character_of(key->key) : std::optional<char>();
  };
  const auto far_talk = character(how.held_talk_key), far_cancel = character(how.far_cancel_key);
  if (is_file && (how.held_talk_key || how.far_cancel_key))
    return "with --file keys are read from standard input, so a key of the keyboard (KEY_…) has no use";
  for (const auto& key : {how.held_talk_key, how.far_cancel_key})
    if (key && character(key) && taken.find(*character(key)) != std::string_view::npos)
      return name_of_key(key->key) + " is not a free key: 1 to 4 and q are in use";
  const bool is_same_key = how.held_talk_key && how.far_cancel_key && how.held_talk_key->key == how.far_cancel_key->key;
  if (is_same_key || talk == cancel || talk == escape_key || far_talk == cancel || far_talk == escape_key ||
      far_cancel == talk)
    return "one key cannot both talk and cancel; give --talk-key and --cancel-key different ones";
  return {};
}

answer<live_settings> live_settings_of(const talk_options& o) {
  live_settings how;
  how.how = o.open ? microphone::open : microphone::while_talking;
  how.allowance = connect_timeout;
  const auto read = [](const char* flag, const text_option& given, char usual) -> answer<char> {
    if (!given) return usual;
    const auto key = key_named(*given);
    constexpr std::string_view taken = "1234q";
    if (!key || taken.find(*key) != std::string_view::npos)
      return refuse(local_code::usage,
                    std::string(flag) + " " + *given +
                        " is not a free key: give one character, space, tab, enter or esc (1 to 4 and q are "
                        "in use), or a key of the keyboard like KEY_F9");
    return *key;
  };
  how.held_talk_key = o.talk_key ? hotkey_named(*o.talk_key) : std::nullopt;
  how.far_cancel_key = o.cancel_key ? hotkey_named(*o.cancel_key) : std::nullopt;
  const auto talk = read("--talk-key", how.held_talk_key ? text_option() : o.talk_key, how.talk_key);
  if (!talk) return tl::unexpected(talk.error());
  const auto cancel = read("--cancel-key", how.far_cancel_key ? text_option() : o.cancel_key, how.cancel_key);
  if (!cancel) return tl::unexpected(cancel.error());
  if (auto wrong = wrong_hotkeys(how, *talk, *cancel, o.file.has_value()); !wrong.empty())
    return refuse(local_code::usage, std::move(wrong));
  how.talk_key = *talk;
  how.cancel_key = *cancel;
  return how;
}

std::string hello_of(session& s, const talk_options& o, const answer<connection>& known) {
  nlohmann::json hello = {{"humans_present", 1}, {"author", {{"id", login_name(s.env)}, {"name", login_name(s.env)}}}};
  if (known && !known->token.empty()) {
    hello["token"] = known->token;
    hello["scope"] = conversation_scope(o.scope, s.globals.where, s.env);
  } else if (o.scope) {
    hello["scope"] = *o.scope;
  }
  return hello.dump();
}

exit_code talk_file(session& s, const talk_options& o, char cancel_key, const std::string& samples,
                    std::unique_ptr<frame_stream> to, const std::string& hello) {
  const auto speech = talk_with_file(s, std::move(to), hello, samples, cancel_key, o.timeout);
  if (!o.out) return speech.code;
  std::ofstream out(*o.out, std::ios::binary);
  out << wav_of_samples(speech.samples);
  if (!out.flush()) return s.fail(local_problem(local_code::local, *o.out + " cannot be written"));
  return speech.code;
}

} // namespace

exit_code execute(session& s, const talk_options& o) {
  if (o.out && !o.file)
    return s.fail(local_problem(local_code::usage, "--out needs --file: what is played is not recorded"));
  const auto how = live_settings_of(o);
  if (!how) return s.fail(how.error());
  std::string samples;
  if (o.file) {
    const auto text = file_text(*o.file, most_wav_bytes);
    if (!text) return s.fail(local_problem(local_code::usage, *o.file + ": " + text.error().detail));
    auto read = samples_of_wav(*text);
    if (!read) return s.fail(local_problem(local_code::usage, *o.file + ": " + read.error().detail));
    samples = std::move(*read);
  }
  const auto known = find_connection(s.globals.where, s.env);
  const auto address = gateway_address(s, o, known);
  if (!address) return s.fail(address.error());
  std::signal(SIGPIPE, SIG_IGN);
  const auto authorities = known ? known->ca_file : s.env("QUELL_CA_FILE").value_or("");
  auto to = frame_stream::open(s.loop, *address, authorities, connect_timeout);
  if (!to) return s.fail(to.error());
  const auto hello = hello_of(s, o, known);
  if (o.file) return talk_file(s, o, how->cancel_key, samples, std::move(*to), hello);
  return talk_live(s, std::move(*to), hello, *how);
}

} // namespace quell::cli
