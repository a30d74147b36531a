# Builds the Python modules for libraries that were built elsewhere: tools/gpu_kit.sh takes these to machines with
# another Python. SLIPSTREAM_LIBRARY is the engine's library; the others lie beside it.
find_package(Threads REQUIRED)
find_package(MPI REQUIRED COMPONENTS CXX)
function(slipstream_imported target)
  cmake_path(REPLACE_FILENAME SLIPSTREAM_LIBRARY lib${target}.so OUTPUT_VARIABLE file)
  add_library(${target} SHARED IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${file} IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include
    INTERFACE_COMPILE_DEFINITIONS "OMPI_SKIP_MPICXX=1;MPICH_SKIP_MPICXX=1")
  target_link_libraries(${target} INTERFACE ${ARGN})
endfunction()
slipstream_imported(slipstream MPI::MPI_CXX Threads::Threads)
foreach(part ${SLIPSTREAM_PARTS})
  slipstream_uses(uses ${part})
  slipstream_imported(slipstream_${part} ${uses})
endforeach()
add_subdirectory(src/api)
add_subdirectory(bench)
