#pragma once
#include <mpi.h>

#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace slipstream {

/// True where the HDF5 of this build writes one file from many ranks.
bool hdf5_is_parallel();

/// Opens an existing file for writing on all ranks, through MPI-IO. Collective, closing too.
Hdf5Handle open_on_all_ranks(const std::string& path, MPI_Comm comm);

/// Transfer properties under which all ranks write together.
Hdf5Handle collective_transfer();

}  // namespace slipstream
