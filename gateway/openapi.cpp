// Embeds openapi.json unchanged. The assembler reads the file from the include path; the build declares the dependency.
#include "gateway/openapi.hpp"

asm(".pushsection .rodata\n"
    ".global quell_openapi_begin\n"
    ".global quell_openapi_end\n"
    "quell_openapi_begin:\n"
    ".incbin \"gateway/openapi.json\"\n"
    "quell_openapi_end:\n"
    ".popsection\n");

extern "C" const char quell_openapi_begin[];
extern "C" const char quell_openapi_end[];

namespace quell::controller::http {

std::string_view openapi_document() {
  return {quell_openapi_begin, static_cast<std::size_t>(quell_openapi_end - quell_openapi_begin)};
}

} // namespace quell::controller::http
