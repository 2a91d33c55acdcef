// `quell talk`: a spoken conversation.
#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fields.hpp"
#include "cli/talk/conversation.hpp"
#include "cli/talk/wav.hpp"
#include "cli/turn_stream.hpp"

namespace quell::cli {
namespace {

constexpr std::size_t most_wav_bytes = 64 << 20;

/// --voice, otherwise the address that a quelld on this machine wrote beside its HTTP address.
answer<std::string> voice_address(session& s, const talk_options& o) {
  if (o.voice) return *o.voice;
  for (const auto& directory : state_directories(s.globals.where, s.env)) {
    const auto text = file_text(directory + "/client.json", 64 << 10);
    const auto said = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
    if (!said.is_object()) continue;
    if (auto voice = text_of(said, "voice"); !voice.empty()) return voice;
    return refuse("unreachable", "the quelld of " + directory +
                                     " serves no voice; set [voice] listen in its configuration (docs/voice.md)");
  }
  return refuse("unreachable", "no quelld is known on this machine; name its voice gateway with --voice HOST:PORT");
}

answer<int> connected(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return refuse("usage", "--voice " + address + " is not HOST:PORT");
  auto host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int bad = ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &wanted, &found); bad != 0)
    return refuse("unreachable", "the voice gateway " + address + " is not known: " + ::gai_strerror(bad));
  int fd = -1;
  for (const auto* at = found; at && fd < 0; at = at->ai_next) {
    fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd >= 0 && ::connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
      ::close(fd);
      fd = -1;
    }
  }
  ::freeaddrinfo(found);
  if (fd < 0) return refuse("unreachable", "nobody answers at the voice gateway " + address);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

} // namespace

int execute(session& s, const talk_options& o) {
  if (!o.file)
    return s.fail(local_problem("usage", "this quell has no sound device: give the speech with --file in.wav, and take "
                                         "the answer with --out out.wav"));
  const auto text = file_text(*o.file, most_wav_bytes);
  if (!text) return s.fail(local_problem("usage", *o.file + ": " + text.error().detail));
  const auto samples = samples_of_wav(*text);
  if (!samples) return s.fail(local_problem("usage", *o.file + ": " + samples.error().detail));
  const auto address = voice_address(s, o);
  if (!address) return s.fail(address.error());
  nlohmann::json hello = {{"humans_present", 1}, {"author", {{"id", login_name(s.env)}, {"name", login_name(s.env)}}}};
  if (const auto known = find_connection(s.globals.where, s.env); known && !known->token.empty()) {
    hello["token"] = known->token;
    hello["scope"] = conversation_scope(o.scope, s.globals.where, s.env);
  } else if (o.scope) {
    hello["scope"] = *o.scope;
  }
  const auto socket = connected(*address);
  if (!socket) return s.fail(socket.error());
  std::signal(SIGPIPE, SIG_IGN);
  conversation talk(s, *socket, o.cancel_key.empty() ? '\x1b' : o.cancel_key.front());
  const int code = talk.execute(hello.dump(), *samples, o.timeout);
  if (o.out) {
    std::ofstream out(*o.out, std::ios::binary);
    out << wav_of_samples(talk.spoken());
    if (!out.flush()) return s.fail(local_problem("local", *o.out + " cannot be written"));
  }
  return code;
}

} // namespace quell::cli
