#pragma once
#include <slipstream/fft.hpp>

namespace slipstream::fft {

/// Before anything else that ranks do together: what one rank refuses, or would make differently, is an error on all.
/// Collective.
void agree_on_transform(const Communicator& comm, const Machine& machine, const Extent& cells,
                        const FftOptions& options);

/// Sets the process grid of options that ask for the fastest, and says how it was found. Collective.
FftProcessGrids choose_process_grid(const Communicator& comm, const Machine& machine, const Extent& cells,
                                    FftOptions& options);

}  // namespace slipstream::fft
