// Private files: created with O_EXCL and 0600 under a temporary name, then renamed, so that a crash never leaves half a
// key.
#include "quelld/secrets.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace quell::controller {

namespace {

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  for (std::size_t got = 0; got < bytes;) {
    const auto n = ::getrandom(raw.data() + got, bytes - got, 0);
    if (n > 0) got += static_cast<std::size_t>(n);
  }
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char c : raw) {
    text += digits[c >> 4];
    text += digits[c & 15];
  }
  return text;
}

/// The first line of a file; "" if it does not exist.
std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Only a file that is missing or empty is made: one that cannot be read now is what workers and clients know.
result<std::string> load_or_make(const std::string& path, std::string (*make)()) {
  errno = 0;
  std::ifstream in(path);
  if (!in && errno != ENOENT)
    return failure(error_code::storage_unavailable,
                   path + " in the state directory cannot be read: " + std::strerror(errno));
  std::string text;
  std::getline(in, text);
  if (in.bad()) return failure(error_code::storage_unavailable, path + " in the state directory cannot be read");
  if (!text.empty()) return text;
  text = make();
  if (auto written = write_private_file(path, text + "\n"); !written) return tl::unexpected(written.error());
  return text;
}

} // namespace

result<state_secrets> load_secrets(const std::string& directory) {
  state_secrets s;
  auto curve = load_or_make(directory + "/controller.key", [] { return key_pair::generate().secret_key; });
  if (!curve) return tl::unexpected(curve.error());
  auto pair = key_pair::from_secret(*curve);
  if (!pair)
    return failure(
        error_code::invalid_field,
        directory +
            "/controller.key holds no CURVE key. Restore it from a backup: workers know this controller by it.");
  s.curve = *pair;
  auto admin = load_or_make(directory + "/admin.token", [] { return "qk_" + random_hex(32); });
  if (!admin) return tl::unexpected(admin.error());
  s.admin_token = *admin;
  auto task = load_or_make(directory + "/task-token.key", [] { return random_hex(32); });
  if (!task) return tl::unexpected(task.error());
  s.task_token_key = *task;
  return s;
}

std::optional<key_pair> controller_key(const std::string& directory) {
  const auto pair = key_pair::from_secret(first_line(directory + "/controller.key"));
  return pair ? std::optional(*pair) : std::nullopt;
}

std::optional<key_pair> next_controller_key(const std::string& directory) {
  const auto pair = key_pair::from_secret(first_line(directory + "/controller.key.next"));
  return pair ? std::optional(*pair) : std::nullopt;
}

result<std::string> prepare_controller_key(const std::string& directory) {
  if (!controller_key(directory))
    return failure(error_code::not_found,
                   directory + " holds no controller.key; name the state directory of quelld with --state");
  if (const auto there = next_controller_key(directory)) return there->public_key;
  const auto fresh = key_pair::generate();
  if (auto written = write_private_file(directory + "/controller.key.next", fresh.secret_key + "\n"); !written)
    return tl::unexpected(written.error());
  return fresh.public_key;
}

result<std::string> finish_controller_key(const std::string& directory) {
  const auto next = next_controller_key(directory);
  if (!next)
    return failure(error_code::not_found, directory + " holds no next key; prepare one with quelld --state " +
                                              directory + " --rotate-key, and finish when the workers know it");
  if (::rename((directory + "/controller.key.next").c_str(), (directory + "/controller.key").c_str()) != 0)
    return failure(error_code::storage_unavailable,
                   directory + "/controller.key cannot be replaced: " + std::strerror(errno));
  if (const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    (void)::fsync(folder);
    ::close(folder);
  }
  return next->public_key;
}

result<void> replace_admin_token(const std::string& directory) {
  if (first_line(directory + "/admin.token").empty())
    return failure(error_code::not_found,
                   directory + " holds no admin.token; name the state directory of quelld with --state");
  const auto token = "qk_" + random_hex(32);
  if (auto written = write_private_file(directory + "/admin.token", token + "\n"); !written) return written;
  std::ifstream in(directory + "/client.json");
  auto client = nlohmann::json::parse(in, nullptr, false);
  if (!client.is_object()) return {}; // quelld writes it when it starts
  client["token"] = token;
  return write_private_file(directory + "/client.json", client.dump() + "\n");
}

} // namespace quell::controller
