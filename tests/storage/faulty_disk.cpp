// A disk that fails on demand: a thin SQLite VFS in front of the real one.
#include "tests/storage/faulty_disk.hpp"

#include <sqlite3.h>

#include <atomic>
#include <mutex>
#include <new>

namespace quell::storage::test {
namespace {

std::mutex arming;
disk_trouble armed = disk_trouble::none;
disk_calls counted = disk_calls::changes;
std::uint64_t left = 0;
std::atomic<bool> failed{false};

bool counts(disk_calls call) {
  if (counted == disk_calls::all || counted == call) return true;
  return counted == disk_calls::changes && call == disk_calls::truncates;
}

/// SQLITE_OK, or the error with which this call must fail.
int trouble(disk_calls call, int when_broken) {
  const std::lock_guard guard(arming);
  if (armed == disk_trouble::none || !counts(call)) return SQLITE_OK;
  if (left > 0 && --left > 0) return SQLITE_OK;
  failed = true;
  if (armed == disk_trouble::broken) return when_broken;
  const bool full = armed == disk_trouble::full;
  armed = disk_trouble::none; // one call failed; the next one may succeed
  return full ? SQLITE_FULL : when_broken;
}

struct file {
  sqlite3_file base;
  sqlite3_file* real;
};
sqlite3_file* real(sqlite3_file* f) { return reinterpret_cast<file*>(f)->real; }

int close(sqlite3_file* f) {
  const int code = real(f)->pMethods->xClose(real(f));
  ::operator delete(real(f));
  return code;
}
int read(sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
  if (const int code = trouble(disk_calls::reads, SQLITE_IOERR_READ)) return code;
  return real(f)->pMethods->xRead(real(f), to, size, at);
}
int write(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
  if (const int code = trouble(disk_calls::changes, SQLITE_IOERR_WRITE)) {
    // As on a real disk: a part of it is written.
    real(f)->pMethods->xWrite(real(f), from, size / 2, at);
    return code;
  }
  return real(f)->pMethods->xWrite(real(f), from, size, at);
}
int truncate(sqlite3_file* f, sqlite3_int64 size) {
  if (const int code = trouble(disk_calls::truncates, SQLITE_IOERR_TRUNCATE)) return code;
  return real(f)->pMethods->xTruncate(real(f), size);
}
int sync(sqlite3_file* f, int flags) {
  if (const int code = trouble(disk_calls::changes, SQLITE_IOERR_FSYNC)) return code == SQLITE_FULL ? SQLITE_OK : code;
  return real(f)->pMethods->xSync(real(f), flags);
}
int file_size(sqlite3_file* f, sqlite3_int64* size) { return real(f)->pMethods->xFileSize(real(f), size); }
int lock(sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); }
int unlock(sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); }
int reserved(sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); }
int control(sqlite3_file* f, int op, void* arg) { return real(f)->pMethods->xFileControl(real(f), op, arg); }
int sector(sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); }
int traits(sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); }
int shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  if (const int code = trouble(disk_calls::shared_maps, SQLITE_IOERR_SHMMAP)) return code;
  return real(f)->pMethods->xShmMap(real(f), page, size, extend, out);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); }
int shm_unmap(sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); }

const sqlite3_io_methods methods{2,        close,       read,      write,   truncate, sync,   file_size,
                                 lock,     unlock,      reserved,  control, sector,   traits, shm_map,
                                 shm_lock, shm_barrier, shm_unmap, nullptr, nullptr};

sqlite3_vfs* under = nullptr;
sqlite3_vfs layer{};

int open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
  auto* mine = reinterpret_cast<file*>(f);
  mine->base.pMethods = nullptr;
  if (const int code = trouble(disk_calls::opens, SQLITE_CANTOPEN)) return code;
  mine->real = static_cast<sqlite3_file*>(::operator new(static_cast<std::size_t>(under->szOsFile)));
  const int code = under->xOpen(under, name, mine->real, flags, out);
  if (code == SQLITE_OK)
    mine->base.pMethods = &methods;
  else
    ::operator delete(mine->real);
  return code;
}

} // namespace

faulty_disk::faulty_disk() {
  under = sqlite3_vfs_find(nullptr);
  layer = *under; // calls that do not concern an open file go straight to the real one
  layer.zName = "faulty";
  layer.szOsFile = sizeof(file);
  layer.xOpen = open;
  heal();
  sqlite3_vfs_register(&layer, 1);
}

faulty_disk::~faulty_disk() {
  sqlite3_vfs_unregister(&layer);
  sqlite3_vfs_register(under, 1);
}

void faulty_disk::fail(disk_trouble what, std::uint64_t nth, disk_calls calls) {
  const std::lock_guard guard(arming);
  armed = what;
  counted = calls;
  left = nth;
  failed = false;
}

bool faulty_disk::has_failed() const { return failed; }

} // namespace quell::storage::test
