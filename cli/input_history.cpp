// Reads and writes the file of typed lines.
#include "cli/input_history.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace quell::cli {
namespace {

constexpr std::size_t most_lines = 1000;
constexpr std::size_t most_history_bytes = 4 * 1024 * 1024;
constexpr std::size_t most_line = 8 * 1024;

struct descriptor {
  int fd = -1;
  ~descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

bool is_ours(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == ::geteuid();
}

bool write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const auto n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

} // namespace

input_history::input_history(std::string path) : path_(std::move(path)) {
  const descriptor file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.fd < 0 || !is_ours(file.fd)) return;
  std::string text;
  std::array<char, 64 * 1024> bytes{};
  for (ssize_t n = 0; (n = ::read(file.fd, bytes.data(), bytes.size())) > 0 && text.size() < most_history_bytes;)
    text.append(bytes.data(), static_cast<std::size_t>(n));
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < text.size(); ++count) {
    const auto end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines_.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines_.size() > most_lines) lines_.erase(lines_.begin(), lines_.end() - most_lines);
  if (count > 2 * most_lines) rewrite_file();
}

void input_history::add(const std::string& line) {
  if (line.empty() || line.size() > most_line || line.find('\n') != std::string::npos) return;
  if (!lines_.empty() && lines_.back() == line) return;
  lines_.push_back(line);
  std::error_code ignored; // a history that cannot be stored must not prevent a conversation
  const auto directory = std::filesystem::path(path_).parent_path();
  if (std::filesystem::create_directories(directory, ignored)) ::chmod(directory.c_str(), 0700);
  const descriptor file{
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
  if (file.fd >= 0 && is_ours(file.fd) && ::fchmod(file.fd, 0600) == 0) write_all(file.fd, line + "\n");
}

/// Writes the last lines into a new file that replaces the old one.
void input_history::rewrite_file() {
  const std::string next = path_ + ".new." + std::to_string(::getpid());
  std::string text;
  for (const auto& line : lines_) text += line + "\n";
  bool whole = false;
  {
    const descriptor file{::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    whole = file.fd >= 0 && write_all(file.fd, text);
  }
  if (!whole || ::rename(next.c_str(), path_.c_str()) != 0) ::unlink(next.c_str());
}

} // namespace quell::cli
