// The file layer: every file call of SQLite, answered from memory. One connection per database, one thread.
#include "tests/simulation/disk.hpp"

#include <SQLiteCpp/Database.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "storage/recovery.hpp"
#include "storage/schema.hpp"

namespace quell::simulation {

namespace {

disk* mounted = nullptr;

struct open_file {
  sqlite3_file base;
  disk* on;
  disk::file* data;
  std::vector<std::unique_ptr<char[]>>* shared; ///< the WAL's index, which is memory anyway
};
open_file& of(sqlite3_file* f) { return *reinterpret_cast<open_file*>(f); }

void put(std::vector<char>& bytes, const disk::write& w) {
  if (w.truncates) {
    bytes.resize(w.at);
    return;
  }
  if (bytes.size() < w.at + w.bytes.size()) bytes.resize(w.at + w.bytes.size());
  std::memcpy(bytes.data() + w.at, w.bytes.data(), w.bytes.size());
}

int close_file(sqlite3_file* f) {
  delete of(f).shared;
  return SQLITE_OK;
}

int read_file(sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
  if (of(f).on->dead()) return SQLITE_IOERR_READ;
  const auto& bytes = of(f).data->bytes;
  const auto from = static_cast<std::size_t>(at), wanted = static_cast<std::size_t>(size);
  const std::size_t there = from < bytes.size() ? std::min(wanted, bytes.size() - from) : 0;
  if (there > 0) std::memcpy(to, bytes.data() + from, there);
  if (there == wanted) return SQLITE_OK;
  std::memset(static_cast<char*>(to) + there, 0, wanted - there);
  return SQLITE_IOERR_SHORT_READ;
}

int write_file(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
  const int code = of(f).on->trouble(true);
  const auto* bytes = static_cast<const char*>(from);
  if (of(f).on->dead()) return SQLITE_IOERR_WRITE;
  if (code != SQLITE_OK) size /= 2; // as on a real disk: a part of it is written
  disk::write w{static_cast<std::size_t>(at), {bytes, bytes + size}, false};
  put(of(f).data->bytes, w);
  of(f).data->unsynced.push_back(std::move(w));
  return code;
}

int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  if (const int code = of(f).on->trouble(true)) return code;
  disk::write w{static_cast<std::size_t>(size), {}, true};
  put(of(f).data->bytes, w);
  of(f).data->unsynced.push_back(std::move(w));
  return SQLITE_OK;
}

int sync_file(sqlite3_file* f, int) {
  if (const int code = of(f).on->trouble(false)) return code;
  auto& data = *of(f).data;
  for (const auto& w : data.unsynced) put(data.synced, w);
  data.unsynced.clear();
  return SQLITE_OK;
}

int file_size(sqlite3_file* f, sqlite3_int64* size) {
  *size = static_cast<sqlite3_int64>(of(f).data->bytes.size());
  return SQLITE_OK;
}
int lock_file(sqlite3_file*, int) { return SQLITE_OK; }
int reserved_lock(sqlite3_file*, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int control_file(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
int sector_size(sqlite3_file*) { return 4096; }
int traits(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

int shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  if (!of(f).shared) of(f).shared = new std::vector<std::unique_ptr<char[]>>;
  auto& pages = *of(f).shared;
  *out = nullptr;
  const auto index = static_cast<std::size_t>(page);
  if (index >= pages.size() && extend == 0) return SQLITE_OK;
  while (pages.size() <= index) pages.push_back(std::make_unique<char[]>(static_cast<std::size_t>(size)));
  *out = pages[index].get();
  return SQLITE_OK;
}
int shm_lock(sqlite3_file*, int, int, int) { return SQLITE_OK; }
void shm_barrier(sqlite3_file*) {}
int shm_unmap(sqlite3_file* f, int) {
  delete of(f).shared;
  of(f).shared = nullptr;
  return SQLITE_OK;
}

const sqlite3_io_methods methods{2,         close_file, read_file, write_file,    truncate_file, sync_file,
                                 file_size, lock_file,  lock_file, reserved_lock, control_file,  sector_size,
                                 traits,    shm_map,    shm_lock,  shm_barrier,   shm_unmap,     nullptr,
                                 nullptr};

int open_in(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
  auto& mine = of(f);
  mine = {};
  if (mounted->dead()) return SQLITE_CANTOPEN;
  const std::string called = name ? name : "";
  if (called.empty() || (!mounted->has(called) && (flags & SQLITE_OPEN_CREATE) == 0)) return SQLITE_CANTOPEN;
  mine.on = mounted;
  mine.data = &mounted->open(called);
  mine.base.pMethods = &methods;
  if (out) *out = flags;
  return SQLITE_OK;
}
int remove_in(sqlite3_vfs*, const char* name, int) {
  if (!mounted->dead()) mounted->remove(name);
  return SQLITE_OK;
}
int access_in(sqlite3_vfs*, const char* name, int, int* out) {
  *out = mounted->has(name) ? 1 : 0;
  return SQLITE_OK;
}
int full_name(sqlite3_vfs*, const char* name, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", name);
  return SQLITE_OK;
}
int randomness(sqlite3_vfs*, int size, char* out) {
  for (int i = 0; i < size; ++i) out[i] = static_cast<char>(i * 37 + 11);
  return size;
}
int pause(sqlite3_vfs*, int micros) { return micros; }
int julian_now(sqlite3_vfs*, double* out) {
  *out = 2460000.5;
  return SQLITE_OK;
}

void register_layer() {
  static sqlite3_vfs layer{};
  if (layer.zName) return;
  layer.iVersion = 1;
  layer.szOsFile = sizeof(open_file);
  layer.mxPathname = 200;
  layer.zName = disk::layer;
  layer.xOpen = open_in;
  layer.xDelete = remove_in;
  layer.xAccess = access_in;
  layer.xFullPathname = full_name;
  layer.xRandomness = randomness;
  layer.xSleep = pause;
  layer.xCurrentTime = julian_now;
  sqlite3_vfs_register(&layer, 1);
}

/// A database with a fresh schema, with a cluster id that does not depend on the day.
const std::vector<char>& blank_store() {
  static std::vector<char> image;
  return image;
}

} // namespace

disk::disk() {
  register_layer();
  mount();
  auto& image = const_cast<std::vector<char>&>(blank_store());
  if (image.empty()) {
    SQLite::Database database(storage::database_file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 0, layer);
    storage::set_up_writer(database);
    storage::migrate(database);
    database.exec("INSERT INTO meta VALUES ('cluster', x'01a1f86993df73038207dde70bee07dd')");
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    image = files_[storage::database_file].bytes;
  }
  files_.clear();
  auto& f = files_[storage::database_file];
  f.exists = true;
  f.bytes = f.synced = image;
}

disk::~disk() {
  if (mounted == this) mounted = nullptr;
}

void disk::mount() { mounted = this; }

int disk::trouble(bool is_write) {
  if (dead_) return SQLITE_IOERR_WRITE;
  if (counting_ && left_-- == 0) {
    dead_ = true;
    return SQLITE_IOERR_WRITE;
  }
  if (broken_) return is_write ? SQLITE_IOERR_WRITE : SQLITE_IOERR_FSYNC;
  return full_ && is_write ? SQLITE_FULL : SQLITE_OK;
}

void disk::crash(random_stream& r) {
  dead_ = true;
  counting_ = false;
  const auto mode = r.below(4);
  for (auto& [name, f] : files_) {
    const std::uint64_t kept = mode == 0 ? 0 : mode == 1 ? f.unsynced.size() : r.below(f.unsynced.size() + 1);
    for (std::size_t i = 0; i < f.unsynced.size(); ++i)
      if (mode == 3 ? r.chance(500) : i < kept) put(f.synced, f.unsynced[i]);
    f.unsynced.clear();
    f.bytes = f.synced;
  }
}

} // namespace quell::simulation
