// libcurl's multi interface on one thread, driven by epoll.
#include "integrations/models/transfers.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace quell::integrations {
namespace {

constexpr long kept_connections = 512; ///< idle and busy together; above it an ended connection is closed

} // namespace

result<std::unique_ptr<transfers>> transfers::make() {
  // Thread safe in this libcurl ("threadsafe" feature) and callable more than once; it is never undone.
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return failure(error_code::internal, "libcurl could not be initialised; model providers cannot be asked");
  std::unique_ptr<transfers> made(new transfers);
  made->multi_ = curl_multi_init();
  made->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  made->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event waking{EPOLLIN, {.fd = made->wake_}};
  if (!made->multi_ || made->epoll_ < 0 || made->wake_ < 0 ||
      epoll_ctl(made->epoll_, EPOLL_CTL_ADD, made->wake_, &waking) != 0)
    return failure(error_code::internal,
                   std::string("no descriptors for asking model providers: ") + std::strerror(errno));
  curl_multi_setopt(made->multi_, CURLMOPT_SOCKETFUNCTION, &transfers::on_socket);
  curl_multi_setopt(made->multi_, CURLMOPT_SOCKETDATA, made.get());
  curl_multi_setopt(made->multi_, CURLMOPT_TIMERFUNCTION, &transfers::on_timer);
  curl_multi_setopt(made->multi_, CURLMOPT_TIMERDATA, made.get());
  curl_multi_setopt(made->multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl_multi_setopt(made->multi_, CURLMOPT_MAXCONNECTS, kept_connections);
  return made;
}

transfers::~transfers() {
  if (multi_) curl_multi_cleanup(multi_);
  if (epoll_ >= 0) ::close(epoll_);
  if (wake_ >= 0) ::close(wake_);
}

void transfers::wake() {
  const std::uint64_t one = 1;
  // Fails only if the wake-up is already pending.
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

int transfers::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  const int epoll = static_cast<transfers*>(self)->epoll_;
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  epoll_event event{};
  event.data.fd = socket;
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  // The descriptor can be that of a new socket; the old socket left the set when it was closed.
  if (epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0) epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
  return 0;
}

int transfers::on_timer(CURLM*, long ms, void* self) {
  auto& timer = static_cast<transfers*>(self)->timer_;
  timer = ms < 0 ? std::nullopt : std::optional(clock::now() + std::chrono::milliseconds(ms));
  return 0;
}

void transfers::add(CURL* easy) { curl_multi_add_handle(multi_, easy); }

void transfers::remove(CURL* easy) {
  // Otherwise an HTTP/2 connection would survive the reset of its stream and return to the pool.
  curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
  curl_multi_remove_handle(multi_, easy);
}

void transfers::release(CURL* easy) { curl_multi_remove_handle(multi_, easy); }

void transfers::wait(clock::time_point until, const std::function<void()>& between,
                     const std::function<void(CURL*, CURLcode)>& done) {
  if (timer_) until = std::min(until, *timer_);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
  std::array<epoll_event, 64> ready{};
  const int count = epoll_wait(epoll_, ready.data(), ready.size(), static_cast<int>(std::clamp<long>(left, 0, 60'000)));
  int running = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = ready[static_cast<std::size_t>(i)];
    if (event.data.fd == wake_) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const auto taken = ::read(wake_, &ignored, sizeof ignored);
      continue;
    }
    // If `between` has closed this socket, libcurl finds no transfer for it, or one that is not ready, which is
    // harmless.
    const int mask = ((event.events & EPOLLIN) ? CURL_CSELECT_IN : 0) |
                     ((event.events & EPOLLOUT) ? CURL_CSELECT_OUT : 0) |
                     ((event.events & (EPOLLERR | EPOLLHUP)) ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(multi_, event.data.fd, mask, &running);
    tell_done(done);
    between();
  }
  if (timer_ && *timer_ <= clock::now()) {
    timer_.reset();
    curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    // libcurl does not report an unchanged timeout again.
    long next = -1;
    if (!timer_ && curl_multi_timeout(multi_, &next) == CURLM_OK) on_timer(multi_, next, this);
  }
  tell_done(done);
}

void transfers::tell_done(const std::function<void(CURL*, CURLcode)>& done) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left))
    if (message->msg == CURLMSG_DONE) done(message->easy_handle, message->data.result);
}

} // namespace quell::integrations
