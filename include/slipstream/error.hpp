#pragma once
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace slipstream {

/// Says why a call failed, for callers that act on it. In Python the attribute `code` has the same name.
enum class ErrorCode {
  invalid_argument,  ///< an argument or an option is not allowed, independent of the others
  unsupported,       ///< a combination of options or objects is not supported
  mismatch,          ///< ranks gave different arguments, or two objects do not fit together
  wrong_state,       ///< calls come in a wrong order, or an object is closed or busy
  unavailable,       ///< a device, a library or a compiled part is missing here, or does not work
  not_found,         ///< no file, field, body, part or item has this name or number
  bad_file,          ///< a file is damaged, or lacks required content
  io,                ///< a file or folder cannot be opened, read or written
  locked,            ///< another process or thread holds the resource
  out_of_memory,     ///< the device or the host has too little memory for the request
  timeout,           ///< a wait timed out
  overflow,          ///< a finite value is infinite in its coding
  diverged,          ///< a simulation has values that are not finite or out of their range
  not_converged,     ///< a system of equations was not solved
  version,           ///< a file or a compiled part is of another version
  internal,          ///< an internal check failed, or a function of the caller threw: please report this
};

/// Name of the error code as text, the same as in the enum.
const char* to_string(ErrorCode code);

/// A name and a value that an error carries, such as "option" and "viscosity". Numbers are written in full.
struct Fact {
  Fact(std::string name, std::string value) : name(std::move(name)), value(std::move(value)) {}
  Fact(std::string name, const char* value) : name(std::move(name)), value(value) {}
  Fact(std::string name, double value);
  template <class Integer>
  requires std::is_integral_v<Integer> Fact(std::string name, Integer value)
      : name(std::move(name)), value(std::to_string(value)) {}

  bool operator==(const Fact&) const = default;

  std::string name;
  std::string value;
};
using Facts = std::vector<Fact>;

/// Merges the facts of an error with those of `more` whose names the error does not have yet.
Facts joined(Facts facts, const Facts& more);

/// The exception of the library. Programs read the code and the facts. The text is one sentence for people: what
/// happened, where, and what to do about it. Its words may change from one version to the next; codes and names of
/// facts do not.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, Facts facts = {});

  ErrorCode code() const noexcept { return code_; }
  /// All facts, the error's named details such as a limit or a file, sorted by name.
  const Facts& facts() const noexcept { return facts_; }
  /// The value of a fact; empty where the error has none of this name.
  const std::string& fact(const char* name) const noexcept;

 private:
  ErrorCode code_;
  Facts facts_;
};

/// Thrown where a wait for another rank or device timed out; the text names who waited for whom.
class Timeout : public Error {
 public:
  explicit Timeout(const std::string& message, Facts facts = {})
      : Error(ErrorCode::timeout, message, std::move(facts)) {}
};

/// Thrown where the device or the host has too little memory for a request.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message, Facts facts = {})
      : Error(ErrorCode::out_of_memory, message, std::move(facts)) {}
};

/// Throws an Error unless the condition holds.
inline void require(bool condition, ErrorCode code, const std::string& message, Facts facts = {}) {
  if (!condition) throw Error(code, message, std::move(facts));
}

/// Throws an Error invalid_argument unless the condition holds.
inline void require(bool condition, const std::string& message, Facts facts = {}) {
  if (!condition) throw Error(ErrorCode::invalid_argument, message, std::move(facts));
}

}  // namespace slipstream
