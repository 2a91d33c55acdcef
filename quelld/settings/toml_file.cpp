// Parses, and turns the library's exceptions into faults.
#include "quelld/settings/toml_file.hpp"

#include <sstream>

namespace quell::controller {

result<toml::table> parse_toml_file(const std::string& file) {
  try {
    return toml::parse_file(file);
  } catch (const toml::parse_error& e) {
    std::ostringstream where;
    where << e.source().begin;
    return failure(error_code::invalid_field, file + ": " + std::string(e.description()) + " (" + where.str() + ")");
  } catch (const std::exception& e) {
    return failure(error_code::invalid_field, file + ": " + e.what());
  }
}

} // namespace quell::controller
