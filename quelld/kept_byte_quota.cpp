// The file: one JSON object, `at_ms` and `boot` for how old it is, and the shares by kind. It is written whole or not
// at all.
#include "quelld/kept_byte_quota.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "integrations/host/private_file.hpp"

namespace quell::controller {

namespace {

using nlohmann::json;

constexpr std::uintmax_t most_file_bytes = 64 << 20;
constexpr std::array kinds{std::pair{byte_shares::kind::token, "tokens"},
                           std::pair{byte_shares::kind::author, "authors"},
                           std::pair{byte_shares::kind::scope, "scopes"}};

struct kept_file {
  std::vector<byte_shares::kept> shares;
  std::chrono::nanoseconds age{}; ///< never negative: a clock that was set back empties nothing
};

std::string text_of(const std::vector<byte_shares::kept>& shares, moment now, const std::string& boot_id) {
  json all = {
      {"version", 1}, {"at_ms", now.wall.time_since_epoch().count()}, {"boot", {{"id", boot_id}, {"ns", now.boot.ns}}}};
  for (const auto& [what, name] : kinds) all[name] = json::object();
  for (const auto& one : shares) all[kinds.at(static_cast<std::size_t>(one.what)).second][one.key] = one.used;
  return all.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// Throws for what it cannot be.
kept_file read_text(const std::string& text, moment now, const std::string& boot_id) {
  const auto all = json::parse(text);
  kept_file found;
  const auto& boot = all.at("boot");
  const auto same_boot = !boot_id.empty() && boot.at("id").get<std::string>() == boot_id;
  const std::chrono::nanoseconds by_boot(now.boot.ns - boot.at("ns").get<std::int64_t>());
  const std::chrono::nanoseconds by_wall = now.wall - wall_time(milliseconds(all.at("at_ms").get<std::int64_t>()));
  found.age = std::max(same_boot ? by_boot : by_wall, std::chrono::nanoseconds{0});
  for (const auto& [what, name] : kinds)
    for (const auto& [key, used] : all.at(name).items()) found.shares.push_back({what, key, used.get<double>()});
  return found;
}

} // namespace

std::string boot_id_of_machine() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(in, line);
  return line;
}

kept_byte_quota::kept_byte_quota(options o) : options_(std::move(o)), shares_(options_.limits) {
  read();
  thread_ = std::thread([this] { run(); });
}

kept_byte_quota::~kept_byte_quota() { close(); }

void kept_byte_quota::close() {
  {
    const std::lock_guard lock(guard_);
    if (std::exchange(is_over_, true)) return;
  }
  wake_.notify_all();
  thread_.join();
}

std::optional<bytes_refused> kept_byte_quota::take(const byte_source& from, std::uint64_t bytes) {
  const auto now = options_.now();
  const std::lock_guard lock(guard_);
  auto refused = shares_.take(from, static_cast<double>(bytes), now);
  if (!refused) has_changed_ = true;
  return refused;
}

std::optional<bytes_refused> kept_byte_quota::look(const byte_source& from, std::uint64_t bytes) const {
  const auto now = options_.now();
  const std::lock_guard lock(guard_);
  return shares_.look(from, static_cast<double>(bytes), now);
}

void kept_byte_quota::add(const byte_source& from, std::uint64_t bytes) {
  const auto now = options_.now();
  const std::lock_guard lock(guard_);
  shares_.add(from, static_cast<double>(bytes), now);
  has_changed_ = true;
}

void kept_byte_quota::give_back(const byte_source& from, std::uint64_t bytes) {
  const auto now = options_.now();
  const std::lock_guard lock(guard_);
  shares_.give_back(from, static_cast<double>(bytes), now);
  has_changed_ = true;
}

void kept_byte_quota::read() {
  std::error_code error;
  const auto size = std::filesystem::file_size(options_.file, error);
  if (error) return; // there is none yet
  try {
    if (size > most_file_bytes) throw std::runtime_error("it is larger than 64 MiB");
    std::ifstream in(options_.file, std::ios::binary);
    const auto now = options_.now();
    const auto found = read_text({std::istreambuf_iterator<char>(in), {}}, now, options_.boot_id);
    shares_.restore(found.shares, found.age, now.boot);
  } catch (const std::exception& e) {
    spdlog::warn("the bytes that were brought today are counted anew, as {} cannot be read: {}", options_.file,
                 e.what());
  }
}

void kept_byte_quota::write() {
  const auto now = options_.now();
  std::vector<byte_shares::kept> shares;
  {
    const std::lock_guard lock(guard_);
    has_changed_ = false;
    shares = shares_.all(now.boot);
  }
  const auto done = write_private_file(options_.file, text_of(shares, now, options_.boot_id));
  // Logged once each time that writing begins to fail.
  if (!std::exchange(is_broken_, !done) && !done)
    spdlog::warn("the bytes that were brought today are not kept over a restart: {}", done.error().detail);
}

void kept_byte_quota::run() {
  std::unique_lock lock(guard_);
  for (bool is_last = false; !is_last;) {
    is_last = wake_.wait_for(lock, options_.write_every, [this] { return is_over_; });
    if (!has_changed_) continue;
    lock.unlock();
    write();
    lock.lock();
  }
}

} // namespace quell::controller
