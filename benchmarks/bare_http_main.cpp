// bench_bare_http ANSWER: the bare limit of HTTP. A Beast server, asynchronous, one thread, that answers every request
// with the head fields and the body in the file ANSWER (a whole HTTP answer). Prints its port; then for each line on
// stdin a plain socket in this process makes one round trip with a small POST, answered with its milliseconds. Other
// processes may use the server meanwhile. Ends with stdin.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "benchmarks/load_client.hpp"

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using prepared = http::response<http::string_body>;

/// The answer in a file, as Beast's own parser reads it.
prepared load_answer(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  http::response_parser<http::string_body> parser;
  parser.eager(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(text), error);
  if (error || !parser.is_done()) quell::bench::end_of_load("ANSWER does not hold one whole HTTP answer");
  return parser.release();
}

class session : public std::enable_shared_from_this<session> {
 public:
  session(tcp::socket socket, const prepared& answer) : socket_(std::move(socket)), answer_(answer) {
    socket_.set_option(tcp::no_delay(true));
  }
  void read() {
    request_ = {};
    http::async_read(socket_, buffer_, request_,
                     [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    http::async_write(socket_, answer_, [self = shared_from_this()](boost::system::error_code error, std::size_t) {
      if (!error) self->read();
    });
  }
  tcp::socket socket_;
  prepared answer_;
  boost::beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
};

void accept_on(tcp::acceptor& acceptor, const prepared& answer) {
  acceptor.async_accept([&](boost::system::error_code error, tcp::socket socket) {
    if (error) return;
    std::make_shared<session>(std::move(socket), answer)->read();
    accept_on(acceptor, answer);
  });
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_bare_http ANSWER   (a line on stdin = one round trip)\n");
    return 2;
  }
  const auto answer = load_answer(argv[1]);
  boost::asio::io_context io(1);
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  accept_on(acceptor, answer);
  std::thread server([&io] { io.run(); });
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);

  using namespace quell::bench;
  target to;
  to.host = "127.0.0.1";
  to.token = std::string(40, 'x');
  to.address.sin_family = AF_INET;
  to.address.sin_port = htons(acceptor.local_endpoint().port());
  to.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto text = request(to, "POST", "/v1/cancels", R"({"scope": "bench/s100", "wait": "fenced"})");
  connection client{dial(to.address), {}};
  quell::bench::answer got;
  for (char line[64]; std::fgets(line, sizeof line, stdin);) {
    const auto before = std::chrono::steady_clock::now();
    send_all(client.fd, text);
    while (!read_answer(client, got)) {
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    std::printf("%.4f\n", took.count());
    std::fflush(stdout);
  }
  io.stop();
  server.join();
  close(client.fd);
  return 0;
}
