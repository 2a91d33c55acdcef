// Turns, tool calls and messages in words, one line each. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/operation_view.hpp"

namespace quell::cli {

/// The most informative part of a call's input, on one line: the command, the path, the address, the task; otherwise
/// all of it as JSON.
std::string input_text(const nlohmann::json& input);
/// `exec echo hello`: a tool's name and its input.
std::string call_text(const std::string& name, const nlohmann::json& input);
/// `ok`, `cancelled`, `failed: no such file`: how a call ended, from `{"ok","cancelled","result"}`.
std::string outcome_text(const nlohmann::json& outcome);
/// `120 in, 45 out`; "" if nothing was used.
std::string usage_text(const nlohmann::json& usage);
/// A wait, another try or another model, as an event reports it; "" for every other event.
std::string model_words(const nlohmann::json& event);
/// Why an answer ended other than by itself: of a block `turn` or the data of a turn_complete; "" = it did.
std::string stop_reason_words(const nlohmann::json& turn);
/// The two commands that answer whether this call may run.
std::vector<std::string> approval_commands(const std::string& operation);
/// The question of a call that has begun (`tool.question` of its operation), in lines; "" names nothing.
std::vector<std::string> question_lines(const nlohmann::json& question);
/// The commands that answer the question.
std::vector<std::string> answer_commands(const std::string& operation, const nlohmann::json& question);
/// The effect of a settled or open cancel, in one line: `4 operations: 1 terminated, 1 killed, 2 cooperative; proven
/// (2.0s)`.
std::string stop_summary(const nlohmann::json& cancel);
/// False: the cancel came when its target had already ended, so its report, which covers nothing and calls that proven,
/// says nothing about how that ended.
bool has_stopped_its_target(const nlohmann::json& cancel);
/// The permitted word for work that ended by this cancel: `stopped` only with proof; otherwise `ended`, or `stopping`.
/// Null: another client's stop, whose proof is not known here: `cancelled`.
std::string stop_word(const nlohmann::json& cancel);
/// quell's own words about a stop as a line beside a model's text, which never begins a line with ⏹: `⏹ stopped:
/// exec`. Without UTF-8 the sign is left out.
std::string stop_line(const std::string& words, character_set characters);
/// The text or sign of an event `acknowledgement`: quell's own words as they are, a model's without quell's signs.
std::string acknowledgement_text(const nlohmann::json& data);
/// `2 operations (exec, 1 queued message)`, from the `cancel` of a decision.
std::string stopped_text(const nlohmann::json& cancel);
/// An event of a turn in words, on one line after two blanks; "" for every other event.
std::string event_words(const nlohmann::json& event);
/// Messages of a conversation (SURFACE 6), oldest first, as lines.
std::vector<std::string> conversation_lines(const nlohmann::json& messages, const view& v, std::size_t columns);

} // namespace quell::cli
