#pragma once
#include <stdexcept>
#include <string>

namespace slipstream {

/// What every room throws: one sentence saying what happened, where, and what to do about it.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A wait that outlived its limit; names who waited for whom.
class Timeout : public Error {
 public:
  using Error::Error;
};

/// A request that the device or the host has no memory for.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Throws Error(message) unless the condition holds.
inline void require(bool condition, const std::string& message) {
  if (!condition) throw Error(message);
}

}  // namespace slipstream
