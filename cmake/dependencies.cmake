# Finds all dependencies of Slipstream. An error names the package to install.
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)

# HDF5: parallel if it is installed, otherwise serial (rank 0 then collects and writes).
set(HDF5_PREFER_PARALLEL TRUE)
find_package(HDF5 REQUIRED COMPONENTS C)
add_library(slipstream_hdf5 INTERFACE)
target_include_directories(slipstream_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(slipstream_hdf5 INTERFACE ${HDF5_C_LIBRARIES})

# FFTW 3 in double and float does the Fourier transforms of the host backend.
pkg_check_modules(FFTW REQUIRED fftw3 fftw3f)
add_library(slipstream_fftw INTERFACE)
target_include_directories(slipstream_fftw SYSTEM INTERFACE ${FFTW_INCLUDE_DIRS})
target_link_libraries(slipstream_fftw INTERFACE ${FFTW_LINK_LIBRARIES})
