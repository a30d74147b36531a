# The Python modules for libraries that were built elsewhere, as tools/gpu_kit.sh takes them to machines with another
# Python. SLIPSTREAM_LIBRARY is the engine's; the others lie beside it.
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
foreach(target slipstream slipstream_collective slipstream_gather_scatter slipstream_fft slipstream_krylov slipstream_lbm
        slipstream_stencil slipstream_dns slipstream_sem)
  cmake_path(REPLACE_FILENAME SLIPSTREAM_LIBRARY lib${target}.so OUTPUT_VARIABLE file)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${file} IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include
    INTERFACE_COMPILE_DEFINITIONS "OMPI_SKIP_MPICXX=1;MPICH_SKIP_MPICXX=1")
  target_link_libraries(${target} INTERFACE MPI::MPI_CXX Threads::Threads)
  if(NOT target STREQUAL "slipstream")
    target_link_libraries(${target} INTERFACE slipstream)
  endif()
endforeach()
target_link_libraries(slipstream_krylov INTERFACE slipstream_collective)
target_link_libraries(slipstream_stencil INTERFACE slipstream_krylov)
target_link_libraries(slipstream_dns INTERFACE slipstream_fft)
target_link_libraries(slipstream_sem INTERFACE slipstream_krylov slipstream_gather_scatter)
add_subdirectory(src/api)
add_subdirectory(bench)
