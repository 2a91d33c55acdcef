// The program `sim`: plays scenarios, and explains the first one that breaks an invariant.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/simulation/shrink.hpp"
#include "tests/simulation/world.hpp"

namespace {

using namespace quell::simulation;

struct arguments {
  std::uint64_t base = 1, count = 1;
  bool replay = false, shrinks = true, quiet = false, keeps_going = false;
  cuts without;
  std::string seeds_file;
};

char now_playing[64] = "seed ?";

/// A failed assertion of the production code is a broken invariant, too.
void aborted(int) {
  constexpr char text[] = "BROKEN assertion: ";
  (void)!::write(1, text, sizeof text - 1);
  (void)!::write(1, now_playing, std::strlen(now_playing));
  (void)!::write(1, "\n", 1);
  ::_exit(1);
}

constexpr const char *chats_word = "chats", *voice_word = "voice", *guilds_word = "guilds";

const char* usage =
    "sim --seed N [--seeds COUNT] [--seeds-file FILE] [--replay] [--off TROUBLE,…|chats|voice|guilds] [--drop "
    "NUMBER,…] [--no-shrink]\n"
    "    [--keep-going] [--quiet]\n";

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::stringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

bool read(int argc, char** argv, arguments& a) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : "0"); };
    if (flag == "--seed")
      a.base = std::stoull(value());
    else if (flag == "--seeds")
      a.count = std::stoull(value());
    else if (flag == "--seeds-file")
      a.seeds_file = value();
    else if (flag == "--replay")
      a.replay = true;
    else if (flag == "--no-shrink")
      a.shrinks = false;
    else if (flag == "--keep-going")
      a.keeps_going = true;
    else if (flag == "--quiet")
      a.quiet = true;
    else if (flag == "--drop")
      for (const auto& word : words_of(value())) a.without.dropped.insert(std::stoi(word));
    else if (flag == "--off")
      for (const auto& word : words_of(value())) {
        a.without.chats_off = a.without.chats_off || word == chats_word;
        a.without.voice_off = a.without.voice_off || word == voice_word;
        a.without.guilds_off = a.without.guilds_off || word == guilds_word;
        if (word == chats_word || word == voice_word || word == guilds_word) continue;
        const auto* at = std::find(trouble_names.begin(), trouble_names.end(), word);
        if (at == trouble_names.end()) return false;
        a.without.troubles_off |= 1U << (at - trouble_names.begin());
      }
    else
      return false;
  }
  return true;
}

std::string command_line(std::uint64_t seed, const cuts& without) {
  std::string line = "sim --seed " + std::to_string(seed) + " --replay";
  std::string off, dropped;
  for (std::size_t t = 0; t < trouble_names.size(); ++t)
    if ((without.troubles_off >> t & 1U) != 0) off += (off.empty() ? "" : ",") + std::string(trouble_names[t]);
  if (without.chats_off) off += (off.empty() ? "" : ",") + std::string(chats_word);
  if (without.voice_off) off += (off.empty() ? "" : ",") + std::string(voice_word);
  if (without.guilds_off) off += (off.empty() ? "" : ",") + std::string(guilds_word);
  for (const int n : without.dropped) dropped += (dropped.empty() ? "" : ",") + std::to_string(n);
  if (!off.empty()) line += " --off " + off;
  if (!dropped.empty()) line += " --drop " + dropped;
  return line;
}

outcome_of_run play(std::uint64_t seed, const cuts& without, bool tracing) {
  std::snprintf(now_playing, sizeof now_playing, "seed %llu", static_cast<unsigned long long>(seed));
  world w(make_scenario(seed, without), tracing);
  return w.play();
}

void explain(std::uint64_t seed, cuts without, const std::string& invariant, bool shrinks) {
  if (shrinks) without = shrink(seed, without, invariant);
  std::printf("%s\n", describe(make_scenario(seed, without)).c_str());
  const auto out = play(seed, without, true);
  for (const auto& line : out.trace) std::printf("%s\n", line.c_str());
  std::printf("\nreplay: %s\n", command_line(seed, without).c_str());
}

std::vector<std::uint64_t> seeds_of(const arguments& a) {
  std::vector<std::uint64_t> seeds;
  if (!a.seeds_file.empty()) {
    std::ifstream file(a.seeds_file);
    for (std::string line; std::getline(file, line);)
      if (!line.empty() && line[0] != '#') seeds.push_back(std::stoull(line));
    return seeds;
  }
  for (std::uint64_t i = 0; i < a.count; ++i) seeds.push_back(a.base + i);
  return seeds;
}

} // namespace

int main(int argc, char** argv) {
  arguments a;
  if (!read(argc, argv, a)) {
    std::fputs(usage, stderr);
    return 2;
  }
  std::signal(SIGABRT, aborted);
  const auto seeds = seeds_of(a);
  if (a.replay) {
    for (const auto seed : seeds) explain(seed, a.without, "", false);
    return 0;
  }
  const auto began = std::chrono::steady_clock::now();
  std::uint64_t events = 0, messages = 0, operations = 0, cancels = 0, runs = 0, exchanges = 0, restarts = 0,
                failures = 0, played = 0;
  std::vector<std::pair<std::uint64_t, cuts>> all;
  for (const auto seed : seeds) {
    all.emplace_back(seed, a.without);
    if (a.seeds_file.empty()) continue;
    // Kept seeds found their faults without chats, and without limits of guilds.
    const auto with_all = make_scenario(seed, a.without);
    if (with_all.guilds.any()) {
      all.emplace_back(seed, a.without);
      all.back().second.guilds_off = true;
    }
    if (!with_all.chats) continue;
    all.emplace_back(seed, a.without);
    all.back().second.chats_off = all.back().second.guilds_off = true;
  }
  for (const auto& [seed, without] : all) {
    const auto out = play(seed, without, false);
    ++played;
    events += out.events, messages += out.messages, operations += out.operations, cancels += out.cancels,
        runs += out.runs, exchanges += out.exchanges;
    restarts += out.restarts - 1;
    if (!out.broken) continue;
    ++failures;
    std::printf("BROKEN %s: seed %llu: %s\n", out.broken->invariant.c_str(), static_cast<unsigned long long>(seed),
                out.broken->what.c_str());
    std::fflush(stdout);
    if (a.keeps_going) continue;
    if (!a.quiet) explain(seed, without, out.broken->invariant, a.shrinks);
    return 1;
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%llu scenarios from seed %llu in %.1f s (%.0f a minute): %llu events, %llu operations, %llu runs, %llu "
              "cancels, %llu messages, %llu exchanges, %llu controller restarts; %llu broken\n",
              static_cast<unsigned long long>(played),
              static_cast<unsigned long long>(seeds.empty() ? 0 : seeds.front()), took,
              static_cast<double>(played) * 60 / std::max(took, 0.001), static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(operations), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(cancels), static_cast<unsigned long long>(messages),
              static_cast<unsigned long long>(exchanges), static_cast<unsigned long long>(restarts),
              static_cast<unsigned long long>(failures));
  return failures > 0 ? 1 : 0;
}
