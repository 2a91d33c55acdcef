// Space for the write-ahead log, taken before commits need it.
#include "storage/wal_space.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace quell::storage {
namespace {

constexpr std::size_t bytes_of_a_write = 65'536;

void fill(int fd, std::uint64_t from, std::uint64_t to) {
  static constexpr std::array<char, bytes_of_a_write> zeros{};
  while (from < to) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(to - from, zeros.size()));
    const auto written = pwrite(fd, zeros.data(), size, static_cast<off_t>(from));
    if (written <= 0) return;
    from += static_cast<std::uint64_t>(written);
  }
  fdatasync(fd);
}

} // namespace

void prepare_wal(const std::string& database_path, std::uint64_t bytes) noexcept {
  const int fd = open((database_path + "-wal").c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  struct stat found {};
  if (fstat(fd, &found) == 0) fill(fd, static_cast<std::uint64_t>(found.st_size), bytes);
  close(fd);
}

} // namespace quell::storage
