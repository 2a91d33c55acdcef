// The text format, line by line.
#include "gateway/metrics_text.hpp"

#include <array>
#include <cstdio>

namespace quell::controller::http {

namespace {

std::string number(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

} // namespace

void metrics_text::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_ += "# HELP " + name_ + ' ' + std::string(help) + "\n# TYPE " + name_ + ' ' + std::string(type) + '\n';
}

void metrics_text::line(std::string_view suffix, labels with, std::string_view le, const std::string& value) {
  out_ += name_;
  out_ += suffix;
  bool first = true;
  const auto label = [&](std::string_view name, std::string_view text) {
    out_ += first ? '{' : ',';
    first = false;
    out_ += std::string(name) + "=\"" + escaped(text) + '"';
  };
  for (const auto& [name, text] : with) label(name, text);
  if (!le.empty()) label("le", le);
  if (!first) out_ += '}';
  out_ += ' ' + value + '\n';
}

void metrics_text::sample(std::uint64_t value, labels with) { line("", with, {}, std::to_string(value)); }
void metrics_text::sample(double value, labels with) { line("", with, {}, number(value)); }

void metrics_text::sample(const histogram& of, labels with) {
  for (std::size_t i = 0; i < histogram::bounds.size(); ++i)
    line("_bucket", with, number(histogram::bounds[i]), std::to_string(of.up_to(i)));
  line("_bucket", with, "+Inf", std::to_string(of.count()));
  line("_sum", with, {}, number(of.sum()));
  line("_count", with, {}, std::to_string(of.count()));
}

} // namespace quell::controller::http
