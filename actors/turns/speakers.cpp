// Names come from the service or the caller, so they are cut to one line and cannot close their own mark.
#include "actors/turns/speakers.hpp"

#include <algorithm>
#include <set>

#include <utf8proc.h>

#include "actors/turns/folded_text.hpp"
#include "actors/turns/history.hpp"
#include "actors/turns/summary.hpp"
#include "protocol/note.hpp"
#include "protocol/speaker.hpp"
#include "protocol/utf8.hpp"

namespace quell::controller::turns {

namespace {

constexpr std::size_t most_name_bytes = 64;

bool is_invisible(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return true;
  default:
    return false;
  }
}

/// On one line, without marks that nobody sees: they would make two names of one.
std::string plain_name(const std::string& given) {
  std::string name;
  for (std::string_view rest = utf8_prefix(given, most_name_bytes); !rest.empty();) {
    utf8proc_int32_t c = 0;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()), std::ssize(rest), &c);
    if (size <= 0) break;
    if (!is_invisible(static_cast<char32_t>(c)) && c != '<' && c != '>')
      name += rest.substr(0, static_cast<std::size_t>(size));
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  while (name.ends_with(' ')) name.pop_back();
  name.erase(0, name.find_first_not_of(' '));
  return name;
}

/// As a reader takes it: neither spaces and quotes nor capital letters nor unseen marks tell a name from a forged one.
std::string as_overlooked(std::string_view text) {
  const auto folded = folded_text(text);
  std::string plain;
  for (std::string_view rest = folded; !rest.empty();) {
    utf8proc_int32_t c = 0;
    const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(rest.data()), std::ssize(rest), &c);
    if (size <= 0) break;
    if (!is_invisible(static_cast<char32_t>(c)) && utf8proc_category(c) != UTF8PROC_CATEGORY_ZS)
      plain += rest.substr(0, static_cast<std::size_t>(size));
    rest.remove_prefix(static_cast<std::size_t>(size));
  }
  return plain;
}

constexpr std::size_t most_people = 2; ///< more would change nothing

std::vector<std::string> people_in(const std::vector<records::kept_message>& kept) {
  std::vector<std::string> people;
  const auto add = [&](const std::string& id) {
    if (people.size() < most_people && std::find(people.begin(), people.end(), id) == people.end())
      people.push_back(id);
  };
  for (const auto& m : kept) {
    if (is_summary(m.message)) {
      people.clear(); // the newest one knows those of before
      const auto summary = summary_of(m.message);
      if (!summary.is_clear()) std::for_each(summary.people.begin(), summary.people.end(), add);
    } else if (m.message.role == records::message_role::user && !m.message.discarded) {
      add(m.message.author.id);
    }
  }
  return people;
}

} // namespace

speakers::speakers(const std::vector<records::kept_message>& kept) : people_(people_in(kept)) {
  std::map<std::string, std::string> names; // by id; the newest name stands
  for (const auto& m : kept)
    if (m.message.role == records::message_role::user && !m.message.discarded)
      names[m.message.author.id] = plain_name(m.message.author.name);
  if (people_.size() < 2) return;
  std::map<std::string, std::size_t> used;
  const auto shown = [](const auto& id, const auto& name) { return name.empty() ? plain_name(id) : name; };
  for (const auto& [id, name] : names) ++used[as_overlooked(shown(id, name))];
  for (const auto& [id, name] : names) {
    auto own = shown(id, name);
    // A name that ends like one with an id behind it has its own id there, too.
    if (own.empty() || used[as_overlooked(own)] > 1 || own.ends_with(')')) own += " (" + plain_name(id) + ")";
    const auto alike = own; // ids can differ in what is not shown
    for (auto n = shown_.size() + 1; !shown_.insert(as_overlooked(own)).second; ++n)
      own = alike + " #" + std::to_string(n);
    marks_[id] = speaker_mark(own);
  }
}

bool speakers::is_forged(std::string_view line) const {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x80 && c != '<' && c != '['; };
  if (std::all_of(line.begin(), line.end(), is_plain)) return false; // as most lines of a long conversation
  static const std::string mark = as_overlooked(note_mark);
  auto words = as_overlooked(line);
  if (words.starts_with(mark)) return true;
  words.erase(0, words.find_first_not_of('>'));
  const auto end = words.find('>');
  return words.starts_with('<') && end != std::string::npos && shown_.contains(words.substr(1, end - 1));
}

std::string speakers::text_of(const records::message_record& message) const {
  auto text = text_for_model(message.text);
  const auto own = marks_.find(message.author.id);
  if (own == marks_.end()) return text;
  std::string named = own->second;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find_first_of("\n\r", begin), text.size());
    const auto line = std::string_view(text).substr(begin, end - begin);
    named += begin == 0 ? " " : "\n";
    if (is_forged(line)) named += "> ";
    named += line;
    begin = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return named;
}

} // namespace quell::controller::turns
