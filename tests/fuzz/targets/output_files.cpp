// Output as a worker sends it and as it is on disk: pieces with any offsets, folders with any files in them (named and
// filled by others, cut, overlapping). Output that is read back is bounded, in order, and the same as written.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "quelld/bulk/output_files.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/samples.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

namespace fs = std::filesystem;
using quell::controller::output_files;

/// One folder for the whole run, in memory if the machine has such a file system.
struct own_folder {
  std::string name = (fs::exists("/dev/shm") ? "/dev/shm" : "/tmp") + std::string("/quell-fuzz-XXXXXX");
  own_folder() { expect(::mkdtemp(name.data()) != nullptr, "a temporary folder"); }
  ~own_folder() {
    std::error_code ignored;
    fs::remove_all(name, ignored);
  }
};

const std::string& place() {
  static const own_folder folder;
  return folder.name;
}

operation_id some_operation(choices& from) {
  return id_number<operation_id>(static_cast<std::uint8_t>(1 + from.below(3)));
}

std::string folder_of(const operation_id& id) {
  const auto text = id.text();
  return place() + "/" + text.substr(34) + "/" + text;
}

/// A file that this program did not write.
void foreign_file(choices& from) {
  const auto folder = folder_of(some_operation(from));
  std::error_code error;
  fs::create_directories(folder, error);
  std::string name;
  switch (from.below(4)) {
  case 0:
    name = from.text();
    break;
  case 1:
    name = "stdout." + from.text();
    break;
  default: {
    char hex[32];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(from.count()));
    name = (from.yes() ? "stdout." : "stderr.") + std::string(hex);
  }
  }
  if (name.empty() || name.size() > 200 || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos || name == "." || name == "..")
    return;
  const auto content = from.text();
  if (from.below(16) == 0)
    fs::create_directories(folder + "/" + name, error);
  else
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
}

void look(output_files& files, const operation_id& id, std::uint64_t offset) {
  for (const auto which : {stream::out, stream::err}) {
    const auto slice = files.read(id, which, offset, 4096);
    expect(slice.has_value(), "output can be read");
    expect(slice->bytes.size() <= 4096, "no more is read than was asked for");
    expect(slice->oldest <= slice->size && slice->dropped <= slice->size,
           "what is lost is no more than what there was");
    expect(slice->offset <= slice->size && slice->bytes.size() <= slice->size - slice->offset,
           "a slice lies within its stream");
  }
  const auto counts = files.counts(id);
  expect(counts.dropped_bytes <= counts.stdout_bytes + counts.stderr_bytes, "counts add up");
  std::uint64_t pieces = 0;
  for (const auto& p : files.order(id, 0, 1000)) pieces += p.length > 0;
  expect(pieces <= 1000, "pieces come in portions");
}

void run(std::string_view bytes) {
  std::error_code ignored;
  fs::remove_all(place(), ignored);
  output_files::options o;
  o.directory = place();
  o.segment_bytes = 64;
  o.keep_bytes_per_stream = 256;
  auto files = std::make_unique<output_files>(o);
  boot_time now{1'000'000'000};
  choices from(bytes);
  for (int steps = 0; steps < 60 && !from.at_end(); ++steps) {
    const auto id = some_operation(from);
    switch (from.below(9)) {
    case 0:
      foreign_file(from);
      break;
    case 1:
      files->expect(id, from.yes() ? "w1" : "w2");
      break;
    case 2:
      files->close(id, now);
      break;
    case 3:
      now = now + std::chrono::seconds{from.below(20)};
      files->give_up(now);
      break;
    case 4: // a restart
      files = std::make_unique<output_files>(o);
      break;
    case 5:
      look(*files, id, from.count());
      break;
    default: {
      wire::output piece{id, from.yes() ? stream::out : stream::err, from.count(), {}, false};
      piece.end = from.below(8) == 0;
      piece.bytes = from.text();
      const auto reached = files->append(piece);
      if (reached && !piece.bytes.empty()) expect(*reached > 0, "what was taken is acknowledged");
    }
    }
  }
  for (std::uint8_t n = 1; n <= 3; ++n) look(*files, id_number<operation_id>(n), 0);
  std::size_t count = 0;
  for (auto it = fs::recursive_directory_iterator(place(), ignored); it != fs::recursive_directory_iterator(); ++it)
    ++count;
  expect(count < 500, "few files");
}

std::vector<std::string> seeds() {
  choice_writer plain;
  plain.byte(0).byte(1).byte(1);
  for (std::uint8_t i = 0; i < 20; ++i) plain.byte(0).byte(6).byte(1).byte(i * 11U).byte(1).piece("hello world");
  plain.byte(0).byte(5).byte(0).byte(0).byte(2);
  choice_writer gaps;
  gaps.byte(0).byte(1).byte(1);
  for (const std::size_t at : {0U, 20U, 200U, 0xf8U, 0xf9U}) gaps.byte(0).byte(6).byte(1).byte(at).byte(1).piece("abc");
  gaps.byte(0).byte(4).byte(0).byte(5).byte(0);
  choice_writer foreign;
  foreign.byte(0).byte(0).byte(0).byte(2).byte(0).byte(1).piece(std::string(40, 'x')).byte(1);
  foreign.byte(0).byte(0).byte(0).byte(2).byte(10).byte(1).piece(std::string(40, 'y')).byte(1);
  foreign.byte(0).byte(0).byte(0).byte(2).byte(0xff).byte(1).piece(std::string(40, 'z')).byte(1);
  foreign.byte(0).byte(5).byte(0);
  return {plain.done(), gaps.done(), foreign.done()};
}

const known_target known("output_files", run, seeds);

} // namespace
} // namespace quell::fuzz
