// Uses an ACP agent from the command line and prints its events, one per line: for tests against other people's agents.
//
// acp_probe COMMAND WORDS...
//
// Then commands on standard input, one per line; it ends when standard input does: "prompt TEXT", "cancel", "permit
// NUMBER OPTION", "stop".
#include <cstdio>
#include <iostream>
#include <mutex>
#include <sstream>

#include <csignal>
#include <unistd.h>

#include "integrations/acp/acp_session.hpp"
#include "tests/system/probed_program.hpp"

using namespace quell;
using namespace quell::integrations;

namespace {

std::string current_directory() {
  char path[4096];
  return ::getcwd(path, sizeof path) ? path : "/";
}

/// One mutex for session and output: the probe is slow and simple.
class probe {
 public:
  explicit probe(char** command)
      : session_("probed", current_directory()),
        pipes_(
            command, [this](std::string_view bytes) { change([&] { session_.receive(bytes); }); },
            [this] { change([this] { session_.close("its output has ended"); }); }) {
    change([this] { session_.start(); });
  }

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string what, rest;
    words >> what;
    if (what == "permit") {
      std::uint64_t number = 0;
      words >> number >> rest;
      return change([&] { session_.permit(number, rest); });
    }
    std::getline(words >> std::ws, rest);
    if (what == "prompt") change([&] { session_.prompt(rest); });
    if (what == "stop") change([this] { session_.stop_waiting(); });
    if (what != "cancel") return;
    change([this] { session_.cancel(); });
    std::puts("cancelled");
  }

  void operator()(const acp_effects::send& e) const { pipes_.write(e.bytes); }
  void operator()(const acp_effects::ready& e) const {
    std::printf("ready %s %s\n", e.name.c_str(), e.version.c_str());
  }
  void operator()(const acp_effects::text& e) const { std::printf("text %s\n", e.delta.c_str()); }
  void operator()(const acp_effects::activity& e) const {
    std::printf("activity %s %s\n", e.status.c_str(), e.title.c_str());
  }
  void operator()(const acp_effects::permission& e) const {
    std::printf("permission %llu %zu %s\n", static_cast<unsigned long long>(e.number), e.options.size(),
                e.title.c_str());
  }
  void operator()(const acp_effects::finished& e) const { std::printf("finished %s\n", e.why.c_str()); }
  void operator()(const acp_effects::failed& e) const {
    std::printf("failed %s %s\n", e.why.code.c_str(), e.why.detail.c_str());
  }
  void operator()(const acp_effects::late& e) const { std::printf("late %s\n", e.what.c_str()); }
  void operator()(const acp_effects::bad_message& e) const { std::printf("complaint %s\n", e.what.c_str()); }

 private:
  template <class What>
  void change(What what) {
    const std::lock_guard lock(guard_);
    what();
    for (const acp_effect& one : session_.effects()) std::visit(*this, one);
  }

  std::mutex guard_;
  acp_session session_;
  quell::testing::probed_program pipes_; ///< last: its reader uses the session
};

} // namespace

int main(int count, char** words) {
  if (count < 2) return std::fputs("usage: acp_probe COMMAND WORDS...\n", stderr), 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGPIPE, SIG_IGN);
  {
    probe agent(words + 1);
    for (std::string line; std::getline(std::cin, line);) agent.obey(line);
  }
  std::puts("end");
  return 0;
}
