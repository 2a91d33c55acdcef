// Looks up users by name in the system's user database.
#include "worker/accounts.hpp"

#include <cerrno>
#include <cstring>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace quell::worker {

namespace {

constexpr std::size_t most_bytes = 1 << 20;
constexpr int most_groups = 65'536;

/// nullopt: the user does not exist.
result<std::optional<account_table::entry>> look_up_one(const std::string& name) {
  std::vector<char> room(16 * 1024);
  passwd record{};
  passwd* found = nullptr;
  int error = 0;
  while ((error = ::getpwnam_r(name.c_str(), &record, room.data(), room.size(), &found)) == ERANGE &&
         room.size() < most_bytes)
    room.resize(room.size() * 2);
  if (!found) {
    if (error == 0 || error == ENOENT || error == ESRCH) return std::optional<account_table::entry>{};
    return failure("bad_config", "cannot look up the user " + name + ": " + std::strerror(error));
  }
  account_table::entry e;
  e.name = name;
  e.home = record.pw_dir ? record.pw_dir : "/";
  e.account.uid = record.pw_uid;
  e.account.gid = record.pw_gid;
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(name.c_str(), record.pw_gid, groups.data(), &count) < 0 && count < most_groups)
    groups.resize(static_cast<std::size_t>(count));
  groups.resize(static_cast<std::size_t>(count));
  e.account.groups.assign(groups.begin(), groups.end());
  e.is_own = record.pw_uid == ::geteuid();
  return std::optional(std::move(e));
}

std::string own_name() {
  std::vector<char> room(16 * 1024);
  passwd record{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &record, room.data(), room.size(), &found) == 0 && found) return found->pw_name;
  return std::to_string(::geteuid());
}

} // namespace

result<account_table> account_table::look_up(const std::vector<std::string>& permitted,
                                             const std::optional<std::string>& usual) {
  account_table accounts;
  accounts.usual_ = usual;
  auto names = permitted;
  if (usual) names.push_back(*usual);
  for (const auto& name : names) {
    auto found = look_up_one(name);
    if (!found) return tl::unexpected(found.error());
    if (!*found)
      return failure("bad_config", "worker.users: there is no user " + name + " on this machine (`getent passwd`)");
    if (!(*found)->is_own && ::geteuid() != 0)
      return failure("bad_config", "worker.users: this worker runs as " + own_name() +
                                       ", and only root can run tasks as " + name + "; start it as root, or leave " +
                                       name + " out");
    accounts.entries_[name] = std::move(**found);
  }
  return accounts;
}

result<const account_table::entry*> account_table::find(const std::optional<std::string>& user) const {
  const auto& wanted = user ? user : usual_;
  if (!wanted) return nullptr;
  if (const auto at = entries_.find(*wanted); at != entries_.end()) return at->second.is_own ? nullptr : &at->second;
  static const std::string own = own_name();
  if (*wanted == own && !usual_) return nullptr;
  std::string permitted = usual_ ? "" : own;
  for (const auto& [name, entry] : entries_)
    if (usual_ || name != own) permitted += (permitted.empty() ? "" : ", ") + name;
  return failure("not_permitted", "this worker runs tasks as " + permitted + " only, not as " + *wanted +
                                      "; its administrator permits more with `users` in [worker] or --user");
}

} // namespace quell::worker
