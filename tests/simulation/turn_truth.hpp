// The true state of messages, turns, calls and approvals, and the invariants that judge them. Fed like `oracle`, which
// knows the operations; README.md lists the invariants.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/turn/phase.hpp"
#include "controller/records/history.hpp"
#include "protocol/model_stream.hpp"
#include "storage/journal.hpp"
#include "tests/simulation/chatters.hpp"

namespace quell::simulation {

class turn_truth {
 public:
  explicit turn_truth(world& w) : world_(w) {}

  // ---- the disk, after `oracle`
  void committed(const std::vector<records::entry>& rows);
  /// A restart: the rows on disk decide.
  void recovered();
  void published(const records::event_record& e);

  // ---- people
  /// Facts that are certain when a message is sent.
  struct look {
    std::set<operation_id> live_in_scope;
  };
  look look_at(const chat_message& m) const;
  void answered(const chat_message& m, const look& sent,
                const controller::outcome<controller::turns::message_answer>& answer);
  void decides(const chat_decision& d) { decisions_[d.call].push_back(d); }
  void decided(const chat_decision& d, bool is_taken);

  std::optional<operation_id> turn_of(const std::string& text) const;

  // ---- models
  /// Called before a model gets this request.
  void requested_model(const model_request& request);

  /// The actor of this turn or sub-agent has thrown, in this phase of it.
  void agent_died(const operation_id& id, actors::turn_phase phase) { dead_.emplace(id, phase); }
  /// An operation whose actor has died and that is not over on disk; "" = none.
  std::string left_by_its_actor() const;

  /// A turn that waits although none is before it; "" = none.
  std::string forgotten() const;
  void check_the_end();

 private:
  struct call_truth {
    records::call_record record;
    std::optional<records::call_outcome> outcome; ///< the first
    int runs = 0, decisions = 0, begun = 0;
    bool was_requested = false, was_approved = false;
  };
  struct turn_state {
    scope_path scope;
    std::uint64_t seq = 0;    ///< of its message
    bool is_of_scope = false; ///< not a sub-agent
    int starts = 0, ends = 0, resumes = 0;
    std::string shown; ///< the text, as the events on disk show it
    bool is_discarded = false;
  };

  void put(const records::message_record& m);
  void put(const records::call_record& c);
  void put(const records::event_record& e);
  void check_calls(const std::vector<records::entry>& rows);
  void check_new_operation(const records::operation_record& r);
  void check_end_of_dead(const operation_id& id, const records::operation_hot& hot);
  void check_calls_of_dead(const operation_id& id, const records::operation_hot& hot);
  void check_turn_start(const operation_id& turn);
  void check_shown(const records::event_record& e);
  void check_resolved(const records::event_record& e);
  void check_acknowledgement(const records::event_record& e);
  void check_announcement(const records::event_record& e);
  void check_stop_reports(const chat_message& m, const controller::turns::message_answer& a);
  void check_same(const chat_message& m, const controller::turns::message_answer& a);
  void check_whole(const conversation& messages) const;
  void check_requests(const conversation& messages) const;

  world& world_;
  std::map<std::uint64_t, records::message_record> messages_; ///< by seq
  std::unordered_map<operation_id, call_truth> calls_;
  std::unordered_map<operation_id, turn_state> turns_;
  std::unordered_map<std::string, operation_id> turn_of_text_;
  std::map<std::pair<std::string, std::string>, message_id> by_client_id_;
  std::unordered_map<operation_id, std::vector<chat_decision>> decisions_;
  std::map<int, controller::turns::message_answer> answers_;
  std::unordered_map<operation_id, actors::turn_phase> dead_; ///< whose actor died in this life of the controller
  std::set<std::string> announced_;                           ///< messages whose decision the watchers were told
};

} // namespace quell::simulation
