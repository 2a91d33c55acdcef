// Problem documents: read from an answer, or made here.
#include "cli/problem.hpp"

#include <nlohmann/json.hpp>

#include "cli/fields.hpp"

namespace quell::cli {
namespace {

std::string document(int status, const std::string& code, const std::string& detail, const std::string& pointer) {
  nlohmann::json errors = nlohmann::json::array();
  if (!pointer.empty()) errors.push_back({{"pointer", pointer}, {"message", detail}});
  const nlohmann::json all{{"type", "urn:quell:error:" + code},
                           {"title", code},
                           {"status", status},
                           {"code", code},
                           {"detail", detail},
                           {"errors", errors},
                           {"request", nullptr}};
  return to_line(all);
}

} // namespace

std::string_view text_of(local_code code) {
  switch (code) {
  case local_code::usage:
    return "usage";
  case local_code::local:
    return "local";
  case local_code::unreachable:
    return "unreachable";
  case local_code::ambiguous:
    return "ambiguous";
  case local_code::nothing:
    return "nothing";
  case local_code::io:
    return "io";
  case local_code::audit_broken:
    return "audit_broken";
  }
  return "local";
}

problem to_problem(const fault& f) {
  problem p;
  p.document = document(0, f.code, f.detail, f.pointer);
  p.code = f.code;
  p.detail = f.detail;
  return p;
}

problem local_problem(local_code code, std::string detail) {
  return to_problem({std::string(text_of(code)), std::move(detail), {}});
}

problem local_problem(error_code code, std::string detail) {
  return to_problem({std::string(text_of(code)), std::move(detail), {}});
}

problem problem_of_answer(int status, const std::string& body, const std::string& url) {
  problem p;
  p.status = status;
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  if (parsed.is_object() && parsed.contains("code") && parsed["code"].is_string()) {
    p.code = parsed["code"].get<std::string>();
    for (const char* key : {"detail", "title"})
      if (p.detail.empty() && parsed.contains(key) && parsed[key].is_string())
        p.detail = parsed[key].get<std::string>();
    if (parsed.contains("errors") && parsed["errors"].is_array())
      for (const auto& e : parsed["errors"]) {
        if (!e.is_object() || !e.contains("pointer") || !e.contains("message")) continue;
        if (!e["pointer"].is_string() || !e["message"].is_string()) continue;
        const auto message = e["message"].get<std::string>();
        if (p.detail.find(message) == std::string::npos)
          p.detail += " (" + e["pointer"].get<std::string>() + ": " + message + ")";
      }
    p.document = to_line(parsed);
    return p;
  }
  p.code = text_of(status == 401   ? error_code::unauthenticated
                   : status == 403 ? error_code::forbidden
                   : status == 404 ? error_code::not_found
                                   : error_code::internal);
  p.detail = url + " answered " + std::to_string(status) +
             " without a problem document: is this the address of a quell controller?";
  p.document = document(status, p.code, p.detail, "");
  return p;
}

} // namespace quell::cli
