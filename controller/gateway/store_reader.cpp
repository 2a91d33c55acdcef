// The pool of reading threads and their connections.
#include "controller/gateway/store_reader.hpp"

#include <mutex>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace quell::controller::http {

struct store_reader::pool {
  explicit pool(unsigned count) : threads(count) {}

  std::unique_ptr<storage::queries> take() {
    const std::lock_guard lock(mutex);
    auto connection = std::move(idle.back()); // as many connections as threads: there is one
    idle.pop_back();
    return connection;
  }
  void give_back(std::unique_ptr<storage::queries> connection) {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(connection));
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<storage::queries>> idle;
  boost::asio::thread_pool threads; // last: they end before what they use
};

store_reader::store_reader(unsigned threads, std::shared_ptr<io_context> io)
    : io_(std::move(io)), pool_(std::make_unique<pool>(threads)) {}

store_reader::~store_reader() { stop(); }

result<std::unique_ptr<store_reader>> store_reader::open(const std::string& directory, unsigned threads,
                                                         std::shared_ptr<io_context> io) {
  auto reader = std::unique_ptr<store_reader>(new store_reader(threads, std::move(io)));
  for (unsigned i = 0; i < threads; ++i) {
    auto opened = storage::queries::open(directory);
    if (!opened) return tl::unexpected(opened.error());
    reader->pool_->give_back(std::move(*opened));
  }
  return reader;
}

void store_reader::stop() { pool_->threads.join(); }

void store_reader::run(std::function<void(storage::queries&)> job) {
  boost::asio::post(pool_->threads, [this, job = std::move(job)] {
    auto connection = pool_->take();
    job(*connection);
    pool_->give_back(std::move(connection));
  });
}

} // namespace quell::controller::http
