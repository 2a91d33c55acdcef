// Readiness over real datagram sockets, as systemd listens on them.
#include <catch2/catch.hpp>

#include <cstddef>
#include <cstring>
#include <filesystem>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "integrations/host/service_manager.hpp"
#include "protocol/id.hpp"

using namespace quell;
using namespace quell::host;

namespace {

/// A bound datagram socket; `name` as NOTIFY_SOCKET would have it.
class listening {
 public:
  explicit listening(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, name.data(), name.size());
    if (name[0] == '@') at.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), length) == 0);
  }
  ~listening() { ::close(fd_); }
  /// The received datagram; "" if there is none. A datagram is readable as soon as it was sent.
  std::string all_received() const {
    std::string text(4096, '\0');
    const auto got = ::recv(fd_, text.data(), text.size(), MSG_DONTWAIT);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int fd_;
};

} // namespace

TEST_CASE("readiness goes to the socket that the service manager names, by path or abstract") {
  const auto unique = request_id::fresh().text();
  const auto path = (std::filesystem::temp_directory_path() / ("quell-notify-" + unique)).string();
  for (const auto& name : {path, "@quell-notify-" + unique}) {
    INFO(name);
    const listening manager(name);
    service_manager(name).ready("serves\nhttp://127.0.0.1:7710");
    CHECK(manager.all_received() == "READY=1\nSTATUS=serves http://127.0.0.1:7710");
    service_manager(name).stopping("hands over");
    CHECK(manager.all_received() == "STOPPING=1\nSTATUS=hands over");
    CHECK(manager.all_received().empty());
  }
  std::filesystem::remove(path);
}

TEST_CASE("without a service manager, or with a name that is none, nothing happens") {
  for (const auto& name :
       {std::string(), std::string("relative/path"), std::string("/nowhere/at/all"), std::string(300, 'x')})
    service_manager(name).ready("ready");
}
