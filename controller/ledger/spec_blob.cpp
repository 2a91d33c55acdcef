// The block: each string or count is preceded by its length in 7-bit groups. Only this file writes and reads it; it
// never goes to disk or over a wire.
#include "controller/ledger/spec_blob.hpp"

#include <cstring>

namespace quell::controller::live {

namespace {

enum flag : std::uint8_t {
  has_cwd = 1,
  is_pty = 2,
  opens_stdin = 4,
  kills_rest = 8,
  has_lease = 16,
  has_default_cwd = 32,
  has_user = 64,
  cooperative_stop = 128
};

void put_number(std::string& out, std::uint64_t n) {
  for (; n >= 128; n >>= 7) out += static_cast<char>(n | 128);
  out += static_cast<char>(n);
}

void put_text(std::string& out, const std::string& text) {
  put_number(out, text.size());
  out += text;
}

struct reader {
  const char* at;

  std::uint64_t number() {
    std::uint64_t n = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(*at++);
      n |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return n;
    }
  }
  std::string text() {
    const std::size_t size = number();
    std::string s(at, size);
    at += size;
    return s;
  }
};

} // namespace

spec_blob::spec_blob(const task_spec& spec) {
  std::string out;
  out.reserve(200);
  const bool with_default = spec.default_cwd && spec.default_cwd_host;
  out += static_cast<char>((with_default ? has_default_cwd : 0) | (spec.user ? has_user : 0) |
                           (spec.cwd ? has_cwd : 0) | (spec.pty ? is_pty : 0) | (spec.stdin_open ? opens_stdin : 0) |
                           (spec.leader_exit == on_leader_exit::kill ? kills_rest : 0) | (spec.lease ? has_lease : 0) |
                           (spec.cooperative_stop ? cooperative_stop : 0));
  put_number(out, spec.command.size());
  for (const auto& word : spec.command) put_text(out, word);
  put_number(out, spec.env.size());
  for (const auto& [name, value] : spec.env) {
    put_text(out, name);
    put_text(out, value);
  }
  put_text(out, spec.stop_signal == "TERM" ? std::string() : spec.stop_signal);
  if (spec.cwd) put_text(out, *spec.cwd);
  if (spec.lease) put_number(out, static_cast<std::uint64_t>(spec.lease->count()));
  if (with_default) {
    put_text(out, *spec.default_cwd);
    put_text(out, *spec.default_cwd_host);
  }
  if (spec.user) put_text(out, *spec.user);
  put_number(out, spec.memory_bytes);
  put_number(out, spec.pids);
  put_number(out, spec.cpu_millis);
  put_number(out, spec.secrets.size());
  for (const auto& [name, sealed] : spec.secrets) {
    put_text(out, name);
    put_text(out, sealed);
  }
  bytes_.reset(new char[out.size()]);
  std::memcpy(bytes_.get(), out.data(), out.size());
}

task_spec spec_blob::decode() const {
  task_spec spec;
  if (!bytes_) return spec;
  reader in{bytes_.get()};
  const auto flags = static_cast<std::uint8_t>(*in.at++);
  spec.pty = (flags & is_pty) != 0;
  spec.stdin_open = (flags & opens_stdin) != 0;
  spec.cooperative_stop = (flags & cooperative_stop) != 0;
  spec.leader_exit = (flags & kills_rest) != 0 ? on_leader_exit::kill : on_leader_exit::wait;
  spec.command.resize(in.number());
  for (auto& word : spec.command) word = in.text();
  for (std::uint64_t left = in.number(); left > 0; --left) {
    std::string name = in.text();
    spec.env.emplace(std::move(name), in.text());
  }
  if (std::string signal = in.text(); !signal.empty()) spec.stop_signal = std::move(signal);
  if ((flags & has_cwd) != 0) spec.cwd = in.text();
  if ((flags & has_lease) != 0) spec.lease = milliseconds{static_cast<std::int64_t>(in.number())};
  if ((flags & has_default_cwd) != 0) {
    spec.default_cwd = in.text();
    spec.default_cwd_host = in.text();
  }
  if ((flags & has_user) != 0) spec.user = in.text();
  spec.memory_bytes = in.number();
  spec.pids = static_cast<std::uint32_t>(in.number());
  spec.cpu_millis = static_cast<std::uint32_t>(in.number());
  for (std::uint64_t left = in.number(); left > 0; --left) {
    std::string name = in.text();
    spec.secrets.emplace(std::move(name), in.text());
  }
  return spec;
}

} // namespace quell::controller::live
