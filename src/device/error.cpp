#include <slipstream/error.hpp>

#include <algorithm>
#include <charconv>

namespace slipstream {
namespace {

constexpr std::pair<const char*, ErrorCode> code_names[] = {{"invalid_argument", ErrorCode::invalid_argument},
                                                            {"unsupported", ErrorCode::unsupported},
                                                            {"mismatch", ErrorCode::mismatch},
                                                            {"wrong_state", ErrorCode::wrong_state},
                                                            {"unavailable", ErrorCode::unavailable},
                                                            {"not_found", ErrorCode::not_found},
                                                            {"bad_file", ErrorCode::bad_file},
                                                            {"io", ErrorCode::io},
                                                            {"locked", ErrorCode::locked},
                                                            {"out_of_memory", ErrorCode::out_of_memory},
                                                            {"timeout", ErrorCode::timeout},
                                                            {"overflow", ErrorCode::overflow},
                                                            {"diverged", ErrorCode::diverged},
                                                            {"not_converged", ErrorCode::not_converged},
                                                            {"version", ErrorCode::version},
                                                            {"internal", ErrorCode::internal}};

}  // namespace

const char* to_string(ErrorCode code) {
  for (const auto& [name, value] : code_names)
    if (value == code) return name;
  return "internal";
}

Fact::Fact(std::string name, double value) : name(std::move(name)) {
  char text[32];
  this->value.assign(text, std::to_chars(text, text + sizeof text, value).ptr);
}

Facts joined(Facts facts, const Facts& more) {
  const std::size_t own = facts.size();
  for (const Fact& fact : more)
    if (std::none_of(facts.begin(), facts.begin() + own, [&](const Fact& f) { return f.name == fact.name; }))
      facts.push_back(fact);
  return facts;
}

Error::Error(ErrorCode code, const std::string& message, Facts facts)
    : std::runtime_error(message), code_(code), facts_(std::move(facts)) {
  std::stable_sort(facts_.begin(), facts_.end(), [](const Fact& a, const Fact& b) { return a.name < b.name; });
}

const std::string& Error::fact(const char* name) const noexcept {
  static const std::string none;
  for (const Fact& f : facts_)
    if (f.name == name) return f.value;
  return none;
}

}  // namespace slipstream
