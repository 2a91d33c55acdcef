// The session loop: the only thread that applies stops, gives the go, and sends heartbeats. All slow work is elsewhere.
//
// One iteration: guardian events, then control frames, then the bulk loop's answers, then spawns (a few), then timers,
// then sends. An end that the guardian has reported is thus seen before a stop that still waits in the socket: the end
// wins, as it truly came first.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "protocol/socket.hpp"
#include "worker/accounts.hpp"
#include "worker/bulk_loop.hpp"
#include "worker/controller_session.hpp"
#include "worker/growing_pause.hpp"
#include "worker/key_ring.hpp"
#include "worker/leftovers.hpp"
#include "worker/shortage.hpp"
#include "worker/state_directory.hpp"
#include "worker/task_environment.hpp"
#include "worker/task_table.hpp"
#include "worker/workspaces.hpp"

namespace quell::worker {

class session_loop {
 public:
  struct settings {
    client_socket::options control; ///< its keys come from `keys`
    key_ring keys;
    bulk_loop::settings bulk;
    guardian_client::options guardian;
    std::uint32_t slots = 8;
    std::map<std::string, std::string> labels;
    std::string work_dir = "/";
    std::string software;
    task_environment::variables environment; ///< base environment of every task
    std::string tools;                       ///< directory put in front of PATH, "" = none
    account_table users;                     ///< the users as whom tasks can run
    task_limits limits;                      ///< default of each task, and the maximum that one can ask for
    std::shared_ptr<workspaces> spaces;      ///< of conversations; its directory is the guardian's, too
    /// Returns directories that tasks must not see, if they may have changed; called before each start. Can be empty.
    std::function<std::vector<std::string>()> newly_hidden;
    /// Readable (eventfd) when the process was told to leave; the count is the number of requests.
    int leave_descriptor = -1;
    /// Readable (eventfd) when a new key was requested.
    int change_descriptor = -1;
  };
  /// Launches the guardian and the bulk thread and opens the control socket.
  static result<std::unique_ptr<session_loop>> open(settings s, state_directory state);
  /// Runs until told to leave (0) or unable to continue (1; the reason is logged).
  int run();

 private:
  session_loop(settings s, state_directory state, leftovers left, std::unique_ptr<guardian_client> guardian,
               std::unique_ptr<bulk_loop> bulk, std::unique_ptr<client_socket> control);

  void wait();
  void hear_guardian();
  void hear_controller();
  void hear_bulk();
  void hear_signals();
  void keep_session();
  void greet();
  void say_hello();
  // ---- session_loop_keys.cpp
  void begin_change();
  void offer_key();
  void hear_key_answer(const wire::key_taken& answer);
  void hear_controller_key(const std::string& public_key);
  void move_to_next_key();
  void connect_anew();
  void try_other_keys();
  void follow_controller();
  void keys_worked();
  bool store_keys();
  void apply(wire::message m);
  void perform(effects& list);
  void spawn(wire::start order);
  /// Enters the workspace that the order names, if it names one. False: the task was refused.
  bool enter_workspace(wire::start& order, const account_table::entry* as, spawn_request& r);
  void note_end_in_workspace(const guardian_event& event);
  /// Ends tasks that have filled their workspace beyond its quota.
  void end_filling_tasks();
  std::string directory_of(const task_spec& spec) const;
  void tell_lease();
  void send();
  void renew_guardian(const std::string& why);
  void repair();
  void say_unproven();
  void cannot_start(const operation_id& operation, const std::string& why);
  void go_without_starts(const std::string& why);
  void try_starts_again();
  void offer_again(const std::string& why);
  /// True if tasks can be started here now.
  bool is_able() const { return !broken_ && !unable_until_; }
  void session_state_changed();
  bool leave_done();
  /// Logs a warning, but the same text at most once a minute.
  void complain(const std::string& text);
  wire::hello hello() const;

  settings settings_;
  state_directory state_;
  leftovers leftovers_;
  std::unique_ptr<guardian_client> guardian_;
  std::unique_ptr<bulk_loop> bulk_;
  std::unique_ptr<client_socket> control_;
  std::unique_ptr<client_socket> next_control_; ///< under the next key, until its connection is up
  boot_time next_control_since_{};
  key_pair connected_as_;    ///< our keys of control_
  std::string connected_to_; ///< the controller's key of control_
  std::string bulk_as_;      ///< both public keys of the bulk socket
  bool controller_takes_keys_ = false;
  controller_session session_;
  task_table table_;
  task_environment environment_;
  incarnation_id incarnation_ = incarnation_id::fresh();
  std::uint64_t life_ = 0; ///< its number in the state directory
  std::string boot_id_, host_;
  controller_session::phase shown_ = controller_session::phase::apart;
  std::string last_warning_;
  boot_time complained_at_{};
  bool ever_ready_ = false;
  std::vector<wire::task_ended> later_results_;
  int leave_requested_ = 0;
  std::optional<boot_time> all_ended_at_, farewell_at_;
  boot_time stored_at_{};
  bool stuck_ = false;
  /// broken_: the guardian died, and its tasks are not proven gone or no new guardian runs yet.
  bool broken_ = false, swept_ = false;
  boot_time repair_at_{};
  growing_pause repair_pause_ = pause_of_repairs;
  std::optional<boot_time> unable_until_; ///< until then every start fails, whatever the task
  growing_pause start_pause_ = pause_of_starts;
  descriptor_reserve reserve_;
  std::string trouble_;       ///< why starts fail, or what the guardian's repair waits for
  bool offered_none_ = false; ///< the last hello offered no slots
  std::future<result<std::size_t>> sweeping_;
};

} // namespace quell::worker
