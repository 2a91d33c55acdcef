// Enrols the workers of `quell up`.
#include "cli/join_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/fields.hpp"
#include "protocol/join.hpp"

namespace quell::cli {
namespace {

answer<bool> write_private(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  ::unlink(part.c_str());
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!written || ::rename(part.c_str(), path.c_str()) != 0)
    return refuse(local_code::local, path + " cannot be written: " + std::strerror(written ? errno : why));
  return true;
}

/// The line with this cluster's present ports.
std::string with_ports(const std::string& text, const control_ports& ports) {
  auto line = parse_join(text);
  if (!line) return text;
  if (!ports.control.empty()) line->control_endpoints = {ports.control};
  if (!ports.bulk.empty()) line->bulk_endpoints = {ports.bulk};
  return to_text(*line);
}

std::string join_in(const std::string& text) {
  const auto begin = text.find("qwj");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_first_of(" \n\r", begin) - begin);
}

} // namespace

answer<bool> enrol(api& controller, const nlohmann::json& known_workers, const std::string& name,
                   const std::string& directory, const control_ports& ports) {
  const std::string path = directory + "/" + name + ".join";
  bool known = false;
  for (const auto& worker : known_workers) known = known || text_of(worker, "name") == name;
  const auto stored = file_text(path, 64 * 1024);
  if (known && !stored) return false;
  std::string join = known ? join_in(*stored) : "";
  if (!known) {
    auto worker =
        controller.post("/v1/workers", {{"name", name}, {"key", nullptr}, {"labels", nlohmann::json::object()}});
    if (!worker) return tl::unexpected(worker.error());
    join = join_in(text_of(*worker, "join"));
  }
  if (join.empty())
    return refuse(local_code::local, "there is no join line for worker " + name + " (" + path +
                                         "); remove it with `quell worker remove " + name + "` and try again");
  return write_private(path, with_ports(join, ports) + "\n");
}

} // namespace quell::cli
