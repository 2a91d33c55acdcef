// Foreign input of the command line: environment files, answers and event streams of any server at the controller's
// address, and text that goes to a terminal.
#include <nlohmann/json.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/event_stream.hpp"
#include "cli/fields.hpp"
#include "cli/output_line.hpp"
#include "cli/problem.hpp"
#include "cli/run_request.hpp"
#include "cli/url.hpp"
#include "protocol/base64.hpp"
#include "protocol/utf8.hpp"
#include "tests/fuzz/target.hpp"

namespace quell::fuzz {
namespace {

using namespace quell::cli;

void environment_file(std::string_view text) {
  const int fd = ::memfd_create("fuzz", MFD_CLOEXEC);
  expect(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "a file in memory");
  run_options o;
  o.command = {"true"};
  o.env_file = "/proc/self/fd/" + std::to_string(fd);
  const auto body = run_request(o, "01a1f869-3df9-7303-8207-dde70bee07dd", "", std::nullopt,
                                [](const char*) { return std::optional<std::string>(); }, {});
  ::close(fd);
  if (!body) {
    expect(body.error().code == "usage", "a bad environment file is the user's mistake");
    return;
  }
  expect(is_utf8(body->dump()), "a request is UTF-8");
  for (const auto& [name, value] : (*body)["task"]["env"].items())
    expect(!name.empty() && name.find('=') == std::string::npos && value.is_string(), "a variable has a name");
}

void event_stream_of(std::string_view bytes) {
  // The same events come out for every way to cut the bytes.
  std::vector<std::string> whole, cut;
  event_parser one([&](const stream_event& e) { whole.push_back(e.id + "\n" + e.type + "\n" + e.data); });
  event_parser other([&](const stream_event& e) { cut.push_back(e.id + "\n" + e.type + "\n" + e.data); });
  (void)one.feed(bytes);
  for (std::size_t i = 0, step = 1; i < bytes.size(); i += step, step = step % 7 + 1)
    (void)other.feed(bytes.substr(i, step));
  expect(whole == cut && one.last_id() == other.last_id(), "a stream means the same however it is cut");
}

void answer_of_anybody(std::string_view bytes) {
  const auto p = problem_of_answer(409, std::string(bytes), "http://127.0.0.1:7710/v1/x");
  expect(!p.code.empty() && is_utf8(p.document), "any answer becomes a problem");
  const auto document = nlohmann::json::parse(bytes, nullptr, false);
  (void)text_of(document, "title");
  (void)number_of(document, "seq");
  (void)instant_of(document, "at");
}

void to_terminal(std::string_view bytes) {
  for (const char c : printable(bytes))
    expect(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "nothing that steers a terminal is shown");
  const auto line = output_line("id", "stdout", 7, bytes).dump();
  expect(is_utf8(line) && line.find('\n') == std::string::npos, "output is one line of JSON");
  expect(from_base64(base64(bytes)) == bytes, "base64 can be written and read");
  expect(cut_character(bytes) <= 3, "at most three bytes wait for their character");
  (void)from_base64(bytes);
  (void)base_address(bytes);
  expect(percent_encoded(bytes).find_first_of(" &=#?/%\n\r") == std::string::npos ||
             percent_encoded(bytes).find('%') != std::string::npos,
         "a parameter is encoded");
}

void run(std::string_view bytes) {
  // Reading a file allocates a megabyte, so not every input does it.
  if (bytes.starts_with('#')) environment_file(bytes);
  event_stream_of(bytes);
  answer_of_anybody(bytes);
  to_terminal(bytes);
}

std::vector<std::string> seeds() {
  return {
      "# a comment\nCI=1\r\nEMPTY=\nA=b=c\n\n",
      "=x\n",
      "A\n",
      "id: 88121\nevent: operation_cancelled\ndata: {\"id\":\"88121\",\"at\":\"2026-11-20T09:52:00.215Z\"}\n\n: "
      "comment\nretry: 1000\r\n\r\ndata: a\ndata: b\n\n",
      R"({"type":"urn:quell:error:id_conflict","title":"t","status":409,"code":"id_conflict","detail":"d","errors":[{"pointer":"/id","message":"m"}],"request":null,"seq":1e300})",
      "\x1b[2J\xc2\x9b"
      "31m",
      "\xf0\x9f\x9b\x91 \xe2\x82",
      "<html>502</html>",
      "http://127.0.0.1:7710/"};
}

const known_target known("cli_input", run, seeds);

} // namespace
} // namespace quell::fuzz
