# The Python modules for libraries that were built elsewhere, as tools/gpu_kit.sh takes them to machines with another
# Python.
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
add_library(slipstream SHARED IMPORTED GLOBAL)
set_target_properties(slipstream PROPERTIES IMPORTED_LOCATION ${SLIPSTREAM_LIBRARY} IMPORTED_NO_SONAME TRUE
  INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include
  INTERFACE_COMPILE_DEFINITIONS "OMPI_SKIP_MPICXX=1;MPICH_SKIP_MPICXX=1")
target_link_libraries(slipstream INTERFACE MPI::MPI_CXX Threads::Threads)
add_subdirectory(src/api)
add_subdirectory(bench)
