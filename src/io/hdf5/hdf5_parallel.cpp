#include "io/hdf5/hdf5_parallel.hpp"

#include <slipstream/error.hpp>

namespace slipstream {

#ifdef H5_HAVE_PARALLEL

bool hdf5_is_parallel() { return true; }

Hdf5Handle open_on_all_ranks(const std::string& path, MPI_Comm comm) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_fapl_mpio(access.get(), comm, MPI_INFO_NULL), "choosing MPI-IO for '" + path + "'");
  return {H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()),
          H5Fclose,
          "opening '" + path + "' on all ranks",
          {{"file", path}}};
}

Hdf5Handle collective_transfer() {
  Hdf5Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "making HDF5 properties");
  hdf5_check(H5Pset_dxpl_mpio(transfer.get(), H5FD_MPIO_COLLECTIVE), "choosing collective transfers");
  return transfer;
}

#else

bool hdf5_is_parallel() { return false; }

Hdf5Handle open_on_all_ranks(const std::string& path, MPI_Comm) {
  throw Error(ErrorCode::unavailable,
              "'" + path + "' cannot be opened on all ranks: this HDF5 is serial; let rank 0 collect");
}

Hdf5Handle collective_transfer() {
  throw Error(ErrorCode::unavailable, "no collective transfers: this HDF5 is serial; let rank 0 collect");
}

#endif

}  // namespace slipstream
