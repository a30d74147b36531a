#include <slipstream/error.hpp>

#include <algorithm>
#include <charconv>

namespace slipstream {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::wrong_state:
      return "wrong_state";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::bad_file:
      return "bad_file";
    case ErrorCode::io:
      return "io";
    case ErrorCode::locked:
      return "locked";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::overflow:
      return "overflow";
    case ErrorCode::diverged:
      return "diverged";
    case ErrorCode::not_converged:
      return "not_converged";
    case ErrorCode::version:
      return "version";
    case ErrorCode::internal:
      return "internal";
  }
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
