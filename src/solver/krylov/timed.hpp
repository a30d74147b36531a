#pragma once
// Measurement of the time that queued work takes.
#include <functional>
#include <vector>

#include <slipstream/communicator.hpp>
#include <slipstream/stream.hpp>

namespace slipstream::krylov {

/// Time in microseconds of the work that `work` queues, as the mean of three runs, on the slowest rank. Collective;
/// waits.
double time_us(const Communicator& comm, std::vector<Stream>& streams, const std::function<void()>& work);

}  // namespace slipstream::krylov
