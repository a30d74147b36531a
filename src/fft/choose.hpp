#pragma once
#include <slipstream/fft.hpp>

namespace slipstream::fft {

/// Sets the process grid of options that ask for the fastest, and says how it was found. Collective.
FftProcessGrids choose_process_grid(const Communicator& comm, const Machine& machine, const Extent& cells,
                                    FftOptions& options);

}  // namespace slipstream::fft
