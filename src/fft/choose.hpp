#pragma once
#include <slipstream/fft.hpp>

namespace slipstream::fft {

/// Compares options of a transform between ranks before any other collective step. An error or a difference on one rank
/// throws on all. Collective.
void agree_on_transform(const Communicator& comm, const Machine& machine, const Extent& cells,
                        const FftOptions& options);

/// Sets the process grid if the options ask for the fastest one, and reports how it was found. Collective.
FftProcessGrids choose_process_grid(const Communicator& comm, const Machine& machine, const Extent& cells,
                                    FftOptions& options);

}  // namespace slipstream::fft
