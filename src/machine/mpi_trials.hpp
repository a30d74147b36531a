#pragma once
// Common parts of trials of MPI with device memory: a guard against crashes, and a cache of the answers.
#include <cstdint>
#include <functional>
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// Capability tests of MPI with device memory. Each runs once per communicator, which caches the answer.
enum class MpiQuestion : std::uint8_t { messages, alltoallv, ialltoallv, put_fence, put_lock };
std::string answer_of(const Communicator& comm, MpiQuestion question, Backend backend,
                      const std::function<std::string()>& ask);
/// Result of a trial of MPI; a message if MPI crashed in it on an invalid address. After a crash no destructors of the
/// trial run.
std::string without_crash(const std::function<std::string()>& trial);

}  // namespace slipstream
