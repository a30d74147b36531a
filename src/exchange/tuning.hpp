#pragma once
#include <functional>
#include <vector>

#include <slipstream/tuner.hpp>

namespace slipstream {

/// Runs an exchange, and what its caller does with it, once. What is queued on the streams, and other streams that they
/// wait for, is measured.
using Once = std::function<void(Exchange& exchange, std::vector<Stream>& streams)>;

/// As the public one, of exchanges that `once` runs; `how.work` is its own to call, and where there is one,
/// the time of the whole decides.
Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how, const Once& once);

/// Begins, queues the work, and ends, though the work fails.
void run_beside(Exchange& exchange, std::vector<Stream>& streams,
                const std::function<void(std::vector<Stream>&)>& work);

/// Collective. Throws Error on all ranks where one has work without a name or a name without work.
void check_work(const Communicator& comm, const TuneOptions& how);

}  // namespace slipstream
