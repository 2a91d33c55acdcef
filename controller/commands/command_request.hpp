// A command on its way to the core, with the functions that take its answer. Light: whoever makes a request includes
// this and the one command; only command.hpp knows all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace quell::controller {

struct command;

/// One line for a log; see commands/description.hpp for what it hides.
std::string describe(const command& what);

template <class Command>
using answer_to = std::function<void(typename Command::answer)>;

/// Take the answer; empty functions take nothing. On the core's thread.
template <class Answer>
struct answer_takers {
  /// Once the answer may leave.
  std::function<void(Answer)> done;
  /// Right after the command was applied, before it is on disk: for state of this process that the next message must
  /// find. Nothing may leave from here.
  std::function<void(const Answer&)> at_once;
};
template <class Command>
using takers_of = answer_takers<typename Command::answer>;

/// A command and the functions that take its answer, which always fit it.
class command_request {
 public:
  /// For each command of command.hpp; compiled in command.cpp, so that nobody else needs all commands.
  template <class Command>
  command_request(Command what, answer_to<Command> done,
                  std::function<void(const typename Command::answer&)> at_once = {});
  ~command_request();
  command_request(command_request&&) noexcept;
  command_request& operator=(command_request&&) noexcept;

  const command& what() const;

  /// The answer leaves only if `may_leave` says so then.
  void only_if(std::function<bool()> may_leave);

  /// Calls `to(command, takers)` with their own types; the request is used up. For includers of command.hpp.
  template <class To>
  void hand_to(To to) &&;

 private:
  struct content;
  std::unique_ptr<content> content_;
};

} // namespace quell::controller
