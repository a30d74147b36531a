#pragma once
// Common parts of trials of MPI with device memory: a guard against crashes, and a cache of the answers.
#include <functional>
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// The answer to a question about MPI with device memory. `ask` runs once per communicator, which caches the answer.
std::string answer_of(const Communicator& comm, const std::string& question, Backend backend,
                      const std::function<std::string()>& ask);
/// Result of a trial; a message if MPI crashed in it on an invalid address. After a crash no destructors of the trial
/// run.
std::string without_crash(const std::function<std::string()>& trial, const std::string& when = "on device memory");

}  // namespace slipstream
