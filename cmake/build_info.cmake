# Compiles facts about the build into the library: commit, compiler and options (include/slipstream/build_info.hpp).
function(slipstream_build_info target)
  set(type ${CMAKE_BUILD_TYPE})
  if(SLIPSTREAM_SANITIZE)
    string(APPEND type ", ${SLIPSTREAM_SANITIZE} sanitizer")
  endif()
  set(cuda "")
  if(SLIPSTREAM_CUDA)
    list(JOIN CMAKE_CUDA_ARCHITECTURES ", " architectures)
    set(cuda "${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR} (${architectures})")
  endif()
  set(hdf5 "${HDF5_VERSION} serial")
  if(HDF5_IS_PARALLEL)
    set(hdf5 "${HDF5_VERSION} parallel")
  endif()
  set(output ${CMAKE_BINARY_DIR}/generated/build_info.cpp)
  add_custom_target(slipstream_commit BYPRODUCTS ${output} COMMENT "Reading the commit" VERBATIM
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR} -DOUTPUT=${output}
            -DTEMPLATE=${PROJECT_SOURCE_DIR}/cmake/build_info.cpp.in -DVERSION=${PROJECT_VERSION}
            "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DTYPE=${type}" "-DCUDA=${cuda}"
            "-DHDF5=${hdf5}" -P ${PROJECT_SOURCE_DIR}/cmake/write_build_info.cmake)
  target_sources(${target} PRIVATE ${output})
  add_dependencies(${target} slipstream_commit)
endfunction()
