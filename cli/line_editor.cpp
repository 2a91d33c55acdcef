// libedit in its unbuffered mode. The only file that includes it.
//
// This file reads the terminal's bytes and passes them on one command at a time. Enter, Ctrl-D and Ctrl-L never reach
// libedit: the owner decides their effect on the screen. libedit waits only a moment for the rest of an escape
// sequence, so that a single Esc blocks nothing.
#include "cli/line_editor.hpp"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <deque>
#include <utility>

#include "cli/columns.hpp"
#include "protocol/utf8.hpp"

namespace quell::cli {
namespace {

constexpr int escape_wait_ms = 30;
constexpr std::size_t most_line_bytes = 32 * 1024; ///< of one line

std::string utf8_of(const wchar_t* text, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto c = static_cast<std::uint32_t>(text[i]);
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xc0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3f))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xe0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3f)),
              static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      out += {static_cast<char>(0xf0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 0x3f)),
              static_cast<char>(0x80 | ((c >> 6) & 0x3f)), static_cast<char>(0x80 | (c & 0x3f))};
    }
  }
  return out;
}

} // namespace

struct line_editor::implementation {
  line_editor& owner;
  callbacks to;
  EditLine* edit = nullptr;
  History* history = nullptr;
  std::deque<unsigned char> bytes;
  bool started = false, gone = false;
  bool fresh = false; ///< nothing is typed or drawn: libedit begins a line with the next `draw`

  explicit implementation(line_editor& o, callbacks c) : owner(o), to(std::move(c)) {}
  ~implementation() {
    if (edit) el_end(edit);
    if (history) history_end(history);
  }

  static implementation& of(EditLine* e) {
    void* data = nullptr;
    el_get(e, EL_CLIENTDATA, &data);
    return *static_cast<implementation*>(data);
  }
  static char* prompt(EditLine* e) { return of(e).owner.prompt_.data(); }

  void fill() {
    std::array<unsigned char, 4096> buffer{};
    const auto n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n > 0) bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + n);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) gone = true;
  }

  /// One character for libedit: 1, or -1 if none comes in time.
  static int next(EditLine* e, wchar_t* out) {
    auto& self = of(e);
    std::uint32_t code = 0;
    int more = 0;
    do {
      if (self.bytes.empty()) {
        pollfd ready{STDIN_FILENO, POLLIN, 0};
        if (::poll(&ready, 1, escape_wait_ms) == 1) self.fill();
      }
      if (self.bytes.empty()) {
        errno = EAGAIN;
        return -1;
      }
      const auto byte = self.bytes.front();
      if (more > 0 && !continues_character(static_cast<char>(byte))) break; // a malformed character ends here
      self.bytes.pop_front();
      if (more > 0) {
        code = (code << 6) | (byte & 0x3f);
        --more;
      } else if (byte >= 0xc0) {
        more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
        code = byte & (0x3f >> more);
      } else {
        code = byte < 0x80 ? byte : U'\uFFFD';
      }
    } while (more > 0);
    *out = static_cast<wchar_t>(more > 0 || code > 0x10ffff ? U'\uFFFD' : code);
    return 1;
  }

  std::string text(bool up_to_cursor) const {
    const auto* line = el_wline(edit);
    return utf8_of(line->buffer,
                   static_cast<std::size_t>((up_to_cursor ? line->cursor : line->lastchar) - line->buffer));
  }

  void unbuffered(bool on) { el_set(edit, EL_UNBUFFERED, on ? 1 : 0); }
};

line_editor::line_editor(callbacks c, const std::vector<std::string>& history)
    : self_(std::make_unique<implementation>(*this, std::move(c))) {
  std::setlocale(LC_CTYPE, "");
  if (::isatty(STDIN_FILENO) != 1 || ::isatty(STDOUT_FILENO) != 1) return;
  self_->edit = el_init("quell", stdin, stdout, stderr);
  self_->history = history_init();
  if (self_->edit == nullptr || self_->history == nullptr) return;
  auto* edit = self_->edit;
  HistEvent event{};
  ::history(self_->history, &event, H_SETSIZE, 1000);
  for (const auto& line : history) ::history(self_->history, &event, H_ENTER, line.c_str());
  el_set(edit, EL_CLIENTDATA, self_.get());
  el_set(edit, EL_PROMPT_ESC, &implementation::prompt, '\1');
  el_set(edit, EL_EDITOR, "emacs");
  el_set(edit, EL_SIGNAL, 0);
  el_set(edit, EL_HIST, ::history, self_->history);
  el_set(edit, EL_GETCFN, &implementation::next);
  // libedit's own search reads further input itself; a search for lines with the same beginning does not.
  el_set(edit, EL_BIND, "^R", "ed-search-prev-history", nullptr);
  el_set(edit, EL_BIND, "^S", "ed-search-next-history", nullptr);
  el_set(edit, EL_BIND, "^W", "ed-delete-prev-word", nullptr);
  el_set(edit, EL_BIND, "^V", "ed-unassigned", nullptr);
  el_set(edit, EL_BIND, "\t", "ed-unassigned", nullptr);
  el_set(edit, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
  el_set(edit, EL_BIND, "\\e[H", "ed-move-to-beg", nullptr);
  el_set(edit, EL_BIND, "\\e[F", "ed-move-to-end", nullptr);
  el_set(edit, EL_BIND, "\\e[1;5C", "em-next-word", nullptr);
  el_set(edit, EL_BIND, "\\e[1;5D", "ed-prev-word", nullptr);
}

line_editor::~line_editor() { stop(); }

bool line_editor::is_usable() const {
  int mode = 0;
  return self_->edit != nullptr && self_->history != nullptr && el_get(self_->edit, EL_EDITMODE, &mode) == 0 &&
         mode == 1;
}

void line_editor::start() { self_->started = self_->fresh = true; }

void line_editor::stop() {
  if (self_->started && !self_->fresh) self_->unbuffered(false);
  self_->started = self_->fresh = false;
}

void line_editor::read() {
  self_->fill();
  while (!self_->bytes.empty() && self_->started) {
    if (self_->fresh) draw();
    const auto byte = self_->bytes.front();
    if (byte == '\r' || byte == '\n') {
      self_->bytes.pop_front();
      self_->to.line(self_->text(false));
      continue;
    }
    if (byte == 0x04 && is_empty()) {
      self_->bytes.pop_front();
      self_->to.end();
      continue;
    }
    if (byte == 0x0c) {
      self_->bytes.pop_front();
      self_->to.clear_screen();
      continue;
    }
    if (self_->text(false).size() >= most_line_bytes && byte >= 0x20 && byte != 0x7f) {
      self_->bytes.pop_front();
      continue;
    }
    int count = 0;
    el_wgets(self_->edit, &count);
  }
  if (self_->gone && self_->started) {
    stop();
    self_->to.gone();
  }
}

void line_editor::draw() {
  if (!self_->started) return;
  if (std::exchange(self_->fresh, false))
    self_->unbuffered(true);
  else
    el_set(self_->edit, EL_REFRESH);
}

std::size_t line_editor::rows_above_cursor(std::size_t columns) const {
  if (!self_->started || self_->fresh || columns == 0) return 0;
  std::string prompt;
  for (const char c : prompt_)
    if (c != '\1') prompt += c;
  return (columns_of(prompt) + columns_of(self_->text(true))) / columns;
}

bool line_editor::is_empty() const { return self_->fresh || self_->text(false).empty(); }

void line_editor::drop() {
  if (!self_->started || std::exchange(self_->fresh, true)) return;
  self_->unbuffered(false);
}

void line_editor::add_history(const std::string& line) {
  HistEvent event{};
  ::history(self_->history, &event, H_ENTER, line.c_str());
}

void line_editor::resume() {
  if (!self_->started || self_->fresh) return;
  el_set(self_->edit, EL_PREP_TERM, 0);
  el_set(self_->edit, EL_PREP_TERM, 1);
}

void line_editor::resized() {
  if (self_->edit != nullptr) el_resize(self_->edit);
}

} // namespace quell::cli
