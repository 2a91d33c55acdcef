// The writer of a streamed answer over one connection: chunks, a trailer, and bytes that come from a file. For
// session_loop.hpp only.
//
// A range of a file is sent by a reader's thread, which may wait for the disk; the thread of the stream waits for the
// client. Nobody else writes to the connection meanwhile.
#pragma once

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gateway/exchange.hpp"
#include "gateway/file_sending.hpp"
#include "gateway/hangup.hpp"
#include "gateway/reply_text.hpp"

namespace quell::controller::http {

class chunk_writer final : public stream_writer {
 public:
  struct link {
    std::function<awaitable<bool>(std::string)> write_all; ///< false if the client has gone
    int descriptor = -1;                                   ///< of a plain connection; -1: bytes are encrypted
    std::chrono::steady_clock::duration timeout{};         ///< of a client that reads nothing
  };
  chunk_writer(link to, body_form form, std::shared_ptr<hangup> end)
      : to_(std::move(to)), chunked_(is_chunked(form)), end_(std::move(end)) {}

  awaitable<bool> write(std::string bytes) override {
    if (end_->gone) co_return false;
    if (bytes.empty()) co_return true;
    if (chunked_) bytes = as_chunk(bytes);
    const bool alive = co_await to_.write_all(std::move(bytes));
    if (!alive) end_->gone = true;
    co_return alive;
  }

  awaitable<bool> write_file(thread_context& here, file_range bytes) override {
    if (end_->gone) co_return false;
    if (bytes.length == 0) co_return true;
    if (!duplicate_) duplicate_ = to_.descriptor >= 0 ? duplicate_for_files(to_.descriptor) : nullptr;
    bool sent = false;
    if (*duplicate_ && end_->probe.is_open())
      sent = co_await send_file(here, std::move(bytes));
    else
      sent = co_await write_by_copy(*this, here, std::move(bytes));
    if (!sent) end_->gone = true; // a chunk that was begun cannot be taken back
    co_return sent;
  }

  bool closed() const override { return end_->gone; }
  bool made_room() const override { return end_->made_room; }
  void wake_on_close(std::shared_ptr<signal> wake) override { end_->wake = std::move(wake); }
  void end_with(std::string name, std::string value) override { trailer_ += name + ": " + value + "\r\n"; }
  const std::string& trailer() const { return trailer_; }

 private:
  awaitable<bool> send_file(thread_context& here, file_range bytes) {
    char head[32] = "";
    if (chunked_) std::snprintf(head, sizeof head, "%" PRIx64 "\r\n", bytes.length);
    const auto chunk = std::make_shared<file_chunk>(*duplicate_, std::move(bytes), head, chunked_ ? "\r\n" : "");
    const std::function<result<file_chunk::progress>(store_reader&)> send = [chunk](store_reader&) {
      return chunk->send();
    };
    while (!end_->gone) {
      const auto did = co_await here.read<file_chunk::progress>(send);
      if (did == file_chunk::progress::sent) co_return true;
      if (did == file_chunk::progress::failed) co_return false;
      const auto writable = std::make_shared<signal>(*here.io);
      boost::asio::co_spawn(*here.io, tell_when_writable(end_, writable), boost::asio::detached);
      const bool goes_on = co_await writable->wait_until(std::chrono::steady_clock::now() + to_.timeout);
      if (!goes_on) co_return false;
    }
    co_return false;
  }

  static awaitable<> tell_when_writable(std::shared_ptr<hangup> end, std::shared_ptr<signal> writable) {
    boost::system::error_code ignored;
    co_await end->probe.async_wait(boost::asio::socket_base::wait_write,
                                   boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    writable->notify();
  }

  link to_;
  std::string trailer_;
  bool chunked_;
  std::shared_ptr<hangup> end_;
  std::optional<std::shared_ptr<const int>> duplicate_; ///< made for the first bytes of a file
};

} // namespace quell::controller::http
