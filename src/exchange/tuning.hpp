#pragma once
#include <functional>
#include <vector>

#include <slipstream/tuner.hpp>

namespace slipstream {

/// Function that runs an exchange once, together with the caller's use of it. The measured time includes all work on
/// the streams, and on other streams that they wait for.
using Once = std::function<void(Exchange& exchange, std::vector<Stream>& streams)>;

/// Measures which options run an exchange fastest. `once` runs the exchange, and also queues the caller's own work, if
/// `how` has some to overlap. The time of both together then decides.
Tuning tune(const Communicator& comm, const Grid& grid, const std::vector<ExchangeItem>& items,
            const ExchangeOptions& options, const TuneOptions& how, const Once& once);

/// Calls begin(), queues the caller's work and calls end(), even if the work throws.
void run_overlapped(Exchange& exchange, std::vector<Stream>& streams,
                    const std::function<void(std::vector<Stream>&)>& work);

/// Checks the work to overlap. Throws Error on all ranks if work lacks a name or a name lacks work. Collective.
void check_work(const Communicator& comm, const TuneOptions& how);

}  // namespace slipstream
