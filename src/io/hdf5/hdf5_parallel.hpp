#pragma once
#include <mpi.h>

#include <string>

#include "io/hdf5/hdf5_handle.hpp"

namespace slipstream {

/// Whether this build's HDF5 supports parallel writes to one file.
bool hdf5_is_parallel();

/// Opens an existing file for writing on all ranks, through MPI-IO. Opening and closing are collective.
Hdf5Handle open_on_all_ranks(const std::string& path, MPI_Comm comm);

/// Transfer properties of HDF5 for collective writes.
Hdf5Handle collective_transfer();

}  // namespace slipstream
