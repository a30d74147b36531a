#pragma once
#include <functional>
#include <vector>

#include <slipstream/tuner.hpp>

namespace slipstream {

/// Runs an exchange once, together with the caller's use of it. The measured time includes all work on the streams, and
/// on other streams that they wait for.
using Once = std::function<void(Exchange& exchange, std::vector<Stream>& streams)>;

/// The public tune() for exchanges that `once` runs. `once` itself calls `how.work`. If there is work, the total time
/// decides.
Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how, const Once& once);

/// Calls begin(), queues the work and calls end(), even if the work throws.
void run_overlapped(Exchange& exchange, std::vector<Stream>& streams,
                    const std::function<void(std::vector<Stream>&)>& work);

/// Throws Error on all ranks if one has work without a name or a name without work. Collective.
void check_work(const Communicator& comm, const TuneOptions& how);

}  // namespace slipstream
