// Manages the file `doubt`: one line, the boot in which the doubt arose.
#include "worker/leftovers.hpp"

#include <fcntl.h>
#include <fstream>
#include <unistd.h>
#include <utility>

#include "worker/guardian/client.hpp"

namespace quell::worker {

leftovers::leftovers(std::string directory, std::string boot)
    : path_(std::move(directory) + "/doubt"), boot_(std::move(boot)) {
  std::ifstream file(path_);
  std::string line;
  was_kept_ = std::getline(file, line) && line == boot_;
}

void leftovers::guardian_begins() { keep(); }

void leftovers::guardian_never_began() {
  if (!was_kept_) drop();
}

void leftovers::guardian_began(bool had_clean_end) {
  from_before_ = was_kept_ || !had_clean_end;
  if (!from_before_) drop();
}

void leftovers::guardian_died(std::vector<operation_id> cut_off) {
  keep();
  died_here_ = true;
  cut_off_.insert(cut_off_.end(), cut_off.begin(), cut_off.end());
}

void leftovers::mark_reported() {
  if (!std::exchange(from_before_, false)) return;
  if (cut_off_.empty()) drop();
}

void leftovers::forgotten(const std::function<bool(const operation_id&)>& is_forgotten) {
  if (cut_off_.empty()) return;
  std::erase_if(cut_off_, is_forgotten);
  if (cut_off_.empty() && !from_before_) drop();
}

void leftovers::keep() const {
  const unique_fd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto line = boot_ + "\n";
  // The disk refuses the write: this process keeps the doubt in memory all the same.
  if (!fd || ::write(fd.get(), line.data(), line.size()) < 0) return;
  ::fdatasync(fd.get());
}

void leftovers::drop() const { ::unlink(path_.c_str()); }

} // namespace quell::worker
