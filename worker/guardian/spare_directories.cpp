// Lends directories and decides which of them can be lent again.
#include "worker/guardian/spare_directories.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "worker/guardian/cgroup.hpp"
#include "worker/guardian/client.hpp"
#include "worker/guardian/system.hpp"

namespace quell::worker {
namespace {

constexpr std::size_t most_free = 256;
constexpr std::uint64_t largest_rest = 64; ///< a rest in use of more than one part in so many ends a directory's use

} // namespace

std::string spare_directories::take(int hierarchy, const std::string& value, int& error) {
  error = 0;
  if (value != value_) { // the settings were changed
    for (const auto& name : free_) ::unlinkat(hierarchy, name.c_str(), AT_REMOVEDIR);
    free_.clear();
    value_ = value;
    first_of_value_ = made_;
  }
  while (!free_.empty()) {
    auto name = std::move(free_.back());
    free_.pop_back();
    const bool is_there = ::faccessat(hierarchy, (name + "/cgroup.procs").c_str(), F_OK, 0) == 0;
    if (is_there) return name; // else somebody has removed the empty directory
  }
  auto name = kind_ + ("-" + std::to_string(made_++));
  const unique_fd fresh(make_cgroup(hierarchy, name.c_str()));
  error = fresh.get() < 0 ? -fresh.get() : write_small_file(fresh.get(), limit_file_, value);
  if (error == 0) return name;
  if (fresh.get() >= 0) ::unlinkat(hierarchy, name.c_str(), AT_REMOVEDIR);
  return {};
}

bool spare_directories::give_back(int hierarchy, const std::string& name) {
  const auto number = std::strtoull(name.c_str() + name.rfind('-') + 1, nullptr, 10);
  if (number < first_of_value_ || free_.size() >= most_free) return false;
  const unique_fd processes(::openat(hierarchy, (name + "/cgroup.procs").c_str(), O_RDONLY | O_CLOEXEC));
  char first = 0;
  if (!processes || ::read(processes.get(), &first, 1) != 0) return false;
  if (*usage_file_ != 0) {
    const auto used = read_small_file(hierarchy, (name + "/" + usage_file_).c_str());
    if (used.empty() ||
        std::strtoull(used.c_str(), nullptr, 10) > std::strtoull(value_.c_str(), nullptr, 10) / largest_rest)
      return false;
  }
  free_.push_back(name);
  return true;
}

} // namespace quell::worker
