# Optional cuFFTDx: transforms of further lengths in the kernels that also store values at their destination. It
# consists of headers, from Python's package nvidia-mathdx or from NVIDIA's MathDx. It is off by default, because its
# kernels take minutes to compile.
include(CMakeDependentOption)
cmake_dependent_option(SLIPSTREAM_CUFFTDX "Lines of 7 * 2^k and 15 * 2^k values by cuFFTDx, which needs cufftdx.hpp" OFF
                       SLIPSTREAM_CUDA OFF)
set(SLIPSTREAM_CUFFTDX_ROOT "" CACHE PATH "Folder with include/cufftdx.hpp")

# Removes the sources of cuFFTDx from the list if the option is off.
function(slipstream_cufftdx sources)
  if(NOT SLIPSTREAM_CUFFTDX)
    set(list ${${sources}})
    list(FILTER list EXCLUDE REGEX "_cufftdx_cuda_kernels\\.cpp$")
    set(${sources} ${list} PARENT_SCOPE)
    return()
  endif()
  set_property(SOURCE src/fft/radix_stores.cpp APPEND PROPERTY COMPILE_DEFINITIONS SLIPSTREAM_CUFFTDX=1)
  slipstream_python_nvidia(packages)
  list(TRANSFORM packages APPEND /mathdx)
  find_path(SLIPSTREAM_CUFFTDX_INCLUDE cufftdx.hpp HINTS ${SLIPSTREAM_CUFFTDX_ROOT} ${packages} PATH_SUFFIXES include)
  if(NOT SLIPSTREAM_CUFFTDX_INCLUDE)
    message(FATAL_ERROR "SLIPSTREAM_CUFFTDX=ON needs cufftdx.hpp: install Python's package nvidia-mathdx, or set "
                        "SLIPSTREAM_CUFFTDX_ROOT to the folder that holds include/cufftdx.hpp")
  endif()
  message(STATUS "Library cufftdx: ${SLIPSTREAM_CUFFTDX_INCLUDE}/cufftdx.hpp")
  set(SLIPSTREAM_MESSAGE_INCLUDES ${SLIPSTREAM_MESSAGE_INCLUDES} ${SLIPSTREAM_CUFFTDX_INCLUDE} PARENT_SCOPE)
endfunction()
