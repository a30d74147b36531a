#pragma once
// Measures the time of queued work.
#include <functional>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::krylov {

/// Microseconds that the streams take for what `work` queues, the mean of three, by the clock of the slowest rank.
/// Collective; waits.
double time_us(const Communicator& comm, std::vector<Stream>& streams, const std::function<void()>& work);

}  // namespace slipstream::krylov
