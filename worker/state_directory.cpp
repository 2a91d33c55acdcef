// Reads and writes the files of the state directory.
#include "worker/state_directory.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace quell::worker {
namespace {

constexpr std::size_t most_state_bytes = 4096;

tl::unexpected<fault> unusable(const std::string& path, const char* what) {
  return failure("state_unusable", "cannot " + std::string(what) + " " + path + ": " + std::strerror(errno) +
                                       "; choose another directory with --state");
}

/// "" for a missing file.
std::string read_file(const std::string& path) {
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::string text(most_state_bytes, '\0');
  const auto n = ::read(fd.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find_first_of(" \n")); }

} // namespace

result<state_directory> state_directory::open(std::string path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    errno = error.value();
    return unusable(path, "make");
  }
  ::chmod(path.c_str(), 0700);
  state_directory d;
  d.path_ = std::move(path);
  const std::string lock = d.path_ + "/lock";
  d.lock_.reset(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!d.lock_) return unusable(lock, "open");
  if (::flock(d.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return unusable(lock, "lock");
    return failure("state_locked", "another quell-worker (pid " + first_word(read_file(lock)) +
                                       ") uses the state directory " + d.path_ +
                                       "; stop it, or choose another directory with --state");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(d.lock_.get(), 0) != 0 || ::pwrite(d.lock_.get(), pid.data(), pid.size(), 0) < 0)
    return unusable(lock, "write");

  d.id_ = first_word(read_file(d.path_ + "/id"));
  if (!parse_uuid7(d.id_)) {
    d.id_ = uuid_text(fresh_uuid7());
    if (auto done = d.write("id", d.id_ + "\n", durability::synced); !done) return tl::unexpected(done.error());
  }
  std::istringstream stored(read_file(d.path_ + "/cluster"));
  std::string cluster;
  if (stored >> cluster >> d.member_.epoch >> d.member_.seq_seen) d.member_.cluster = cluster_id::parse(cluster);
  return d;
}

std::uint64_t state_directory::begin_life() {
  const std::string text = first_word(read_file(path_ + "/lives"));
  std::uint64_t lives = 0;
  std::from_chars(text.data(), text.data() + text.size(), lives);
  return write("lives", std::to_string(lives + 1) + "\n", durability::synced) ? lives + 1 : 0;
}

result<void> state_directory::store(const membership& m) {
  if (!m.cluster) return {};
  const bool is_changed = member_.cluster != m.cluster || member_.epoch != m.epoch;
  auto done =
      write("cluster", m.cluster->text() + " " + std::to_string(m.epoch) + " " + std::to_string(m.seq_seen) + "\n",
            is_changed ? durability::synced : durability::renamed);
  if (done) member_ = m;
  return done;
}

bool state_directory::has_key() const { return ::access((path_ + "/key").c_str(), F_OK) == 0; }

result<key_pair> state_directory::key() const {
  const std::string text = first_word(read_file(path_ + "/key"));
  if (text.empty())
    return failure("no_key", "the join line holds no key and " + path_ +
                                 "/key is not there; run `quell-worker keygen --state " + path_ +
                                 "` and enrol its public key with `quell worker add NAME --key PUBLIC`");
  return key_pair::from_secret(text);
}

result<void> state_directory::store_key(const key_pair& keys) {
  return write("key", keys.secret_key + "\n", durability::synced);
}

std::string state_directory::keys() const { return read_file(path_ + "/keys"); }

result<void> state_directory::store_keys(const std::string& text) { return write("keys", text, durability::synced); }

bool state_directory::change_wanted() const { return ::access((path_ + "/change").c_str(), F_OK) == 0; }

void state_directory::change_begun() { ::unlink((path_ + "/change").c_str()); }

result<void> state_directory::write(const std::string& name, const std::string& text, durability how) const {
  const bool sync = how == durability::synced;
  const std::string path = path_ + "/" + name;
  const std::string fresh = path + ".new";
  const unique_fd fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return unusable(fresh, "write");
  if (sync && ::fdatasync(fd.get()) != 0) return unusable(fresh, "sync");
  if (::rename(fresh.c_str(), path.c_str()) != 0) return unusable(path, "replace");
  if (sync) {
    const unique_fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory) ::fsync(directory.get());
  }
  return {};
}

} // namespace quell::worker
