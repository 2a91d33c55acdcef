// The files of the web console, compiled in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace quell::controller::http {

struct console_file {
  std::string content_type, etag;
  std::string_view plain, gzipped;
};

/// Reads the pack that console/build.mjs writes: a line for each file (path, content type, ETag, bytes plain and
/// gzipped), an empty line, then the bytes in that order. Skips broken entries.
std::map<std::string, console_file, std::less<>> read_console_pack(std::string_view pack);

/// True if the console answers at this path: `/`, its files, and the links to its views, which browsers request as
/// HTML.
bool is_of_console(std::string_view path, std::string_view accept);

} // namespace quell::controller::http
