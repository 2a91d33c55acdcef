// The true state of voice conversations, and the invariants that judge them: what each client sent and got, which
// exchanges are on disk, and what models are told. README.md lists the invariants.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/records/entries.hpp"
#include "integrations/voice/wire.hpp"
#include "protocol/model_stream.hpp"
#include "tests/simulation/events.hpp"

namespace quell::simulation {

struct world;

/// The utterances that a text is about: `#v12.`
std::set<int> utterances_in(std::string_view text);
/// The mark of the last one; "" = none. A played model repeats it in its answer.
std::string voice_mark(std::string_view text);
/// A prompt without the context that a brain puts before it.
std::string without_context(const std::string& prompt);

class voice_truth {
 public:
  explicit voice_truth(world& w) : world_(w) {}

  // ---- a client's connection, by number
  void speaks(int connection, int utterance);
  void says_stop(const std::string& person, const std::string& scope) { stop_sayers_.insert({person, scope}); }
  /// It sends a 07. `by_key`: its own side drops what comes until the answer.
  void cancels(int connection, bool by_key);
  void frame_leaves(int connection, const integrations::voice::frame& f);
  void frame_comes(int connection, const integrations::voice::frame& f);
  /// Samples reach the speaker.
  void plays(int connection, const std::string& samples);
  /// A playing answer has ended: it was heard whole, or talked over.
  void stops_playing(int connection);
  /// Everything is healed and at rest.
  void check_answered(int connection);

  // ---- the disk and the models
  void committed(const std::vector<records::entry>& rows);
  void requested_model(const model_request& request);
  /// An exchange that lives; "" = none.
  std::string forgotten() const;
  std::uint64_t exchanges() const { return exchanges_; }

 private:
  struct talk {
    bool is_speaking = false;
    std::map<int, instant> spoken;
    std::set<int> playing, received;    ///< utterances whose answers play, and have ended without a cancel
    std::vector<int> borders;           ///< for each 07 the last utterance before it
    int keyed = 0, silent = 0;          ///< utterances up to here are cancelled: by key, and answered
    std::size_t left = 0, answered = 0; ///< of the 07s
    int due_after = 0, last_query = 0;  ///< utterances: cancelled after an exchange had begun; of the last prompt
    bool has_words = false;             ///< an exchange has begun
    bool had_context = false;           ///< the last prompt
    std::uint64_t cancels_then = 0;     ///< of this client and others, at the last prompt
  };
  talk& of(int connection) { return talks_[connection]; }
  std::optional<operation_id> exchange_of(int utterance) const;
  void check_fenced(int connection, int border);
  void check_cancelled(int utterance);
  void check_row(const records::update_operation& u);
  void check_spoken_stop(const records::cancel_record& c);
  void check_unheard(const model_request& request, const user_message& own);
  void check_context(const std::string& prompt, int utterance);

  world& world_;
  std::map<int, talk> talks_;
  std::map<int, int> connection_of_; ///< by utterance
  std::set<std::pair<std::string, std::string>> stop_sayers_;
  std::set<operation_id> live_;                            ///< exchanges
  std::unordered_map<operation_id, instant> cancelled_;    ///< exchanges, with the time of their end
  std::unordered_map<operation_id, instant> spoken_since_; ///< live exchanges whose record says that they were spoken
  std::unordered_map<operation_id, instant> turn_began_;   ///< on disk
  std::map<int, operation_id> turn_of_;                    ///< by utterance
  std::uint64_t exchanges_ = 0, stops_ = 0, cancels_ = 0;  ///< `cancels_`: frames 07 of all clients
};

} // namespace quell::simulation
