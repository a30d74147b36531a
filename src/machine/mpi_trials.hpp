#pragma once
// What trials of MPI with device memory share: a guard against crashes, and answers that are kept.
#include <cstdint>
#include <functional>
#include <string>

#include <slipstream/communicator.hpp>
#include <slipstream/device.hpp>

namespace slipstream {

/// What is asked of MPI and device memory once for a communicator, which keeps the answer.
enum class MpiQuestion : std::uint8_t { messages, alltoallv, ialltoallv, put_fence, put_lock };
std::string answer_of(const Communicator& comm, MpiQuestion question, Backend backend,
                      const std::function<std::string()>& ask);
/// What a trial says, or that MPI crashed in it on an invalid address: then nothing of the trial is unwound.
std::string without_crash(const std::function<std::string()>& trial);

}  // namespace slipstream
