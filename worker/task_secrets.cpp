// Makes memory files that are written once.
#include "worker/task_secrets.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "worker/guardian/system.hpp"
#include "worker/start_fault.hpp"

namespace quell::worker {
namespace {

bool write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

} // namespace

result<std::vector<unique_fd>> memory_files(const std::map<std::string, std::string>& secrets) {
  if (secrets.size() > most_secrets)
    return failure(start_fault::no_secret, "it has more than " + std::to_string(most_secrets) + " secrets");
  std::vector<unique_fd> files;
  for (const auto& [name, contents] : secrets) {
    if (contents.empty())
      return failure(start_fault::no_secret,
                     "its secret " + name +
                         " is lost: the controller's task-token.key is not the one that sealed it; run the "
                         "command again");
    // Every user who can open the descriptors of the task's processes can read it, whichever user the task became.
    unique_fd file(::memfd_create("quell-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file || !write_all(file.get(), contents) || ::fchmod(file.get(), 0444) < 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
      return failure(errno == EMFILE || errno == ENFILE || errno == ENOMEM ? start_fault::shortage
                                                                           : start_fault::no_secret,
                     "a memory file for its secret " + name + " cannot be made: " + errno_text(errno));
    files.push_back(std::move(file));
  }
  return files;
}

} // namespace quell::worker
