// A server on loopback that does on each connection what a test says, also what no good server does.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;

namespace quell::cli::test {

/// A certificate with its key, as PEM.
struct identity {
  std::string certificate, key;
};

/// The server's end of one connection. Every wait ends after 60 s.
class served {
 public:
  served(int socket, int number, SSL* tls) : number(number), socket_(socket), tls_(tls) {}

  const int number; ///< 1 for the first connection of the server
  /// The next whole request, "" if the client has closed.
  std::string request();
  void send(std::string_view bytes);
  /// True once the client has closed; what it still sends is dropped.
  bool client_closes();
  void close();
  /// Closes without the goodbye of TLS.
  void cut();

 private:
  std::string read_some();

  int socket_;
  SSL* tls_;
  std::string arrived_;
};

class scripted_server {
 public:
  using script = std::function<void(served&)>;
  enum class on { ipv4, ipv6 };

  explicit scripted_server(script s, const identity* with_tls = nullptr, on family = on::ipv4);
  ~scripted_server();

  int port() const { return port_; }
  std::string url(const std::string& path, const std::string& host = "127.0.0.1") const;
  int connections() const;

 private:
  void accept_all();
  void serve(int socket, int number);

  script script_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

/// An answer with its length.
std::string answer_of(std::string_view body, int status = 200, std::string_view more_headers = "");

} // namespace quell::cli::test
