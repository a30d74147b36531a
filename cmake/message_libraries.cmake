# Optional libraries that move messages between GPUs, and cuFFT. The build needs only their headers. A program loads the
# libraries at run time, from the system's search path or from where the build found them.
set(SLIPSTREAM_NCCL AUTO CACHE STRING "route nccl: AUTO (where nccl.h is found in a CUDA build), ON or OFF")
set(SLIPSTREAM_NVSHMEM AUTO CACHE STRING "route nvshmem: AUTO (where nvshmem_host.h is found in a CUDA build), ON or OFF")
set(SLIPSTREAM_CUFFT AUTO CACHE STRING "Fourier transforms on GPUs: AUTO (where cufft.h is found in a CUDA build), ON or OFF")
set(SLIPSTREAM_NCCL_ROOT "" CACHE PATH "Folder with include/nccl.h")
set(SLIPSTREAM_NVSHMEM_ROOT "" CACHE PATH "Folder with include/nvshmem_host.h")
set(SLIPSTREAM_CUFFT_ROOT "" CACHE PATH "Folder with include/cufft.h")

# Sets <result> to the folder of Python's packages nvidia-nccl-* and nvidia-nvshmem-*, or to nothing.
function(slipstream_python_nvidia result)
  set(python ${Python_EXECUTABLE} python3)
  list(GET python 0 python)
  execute_process(COMMAND ${python} -c "import nvidia; print(';'.join(nvidia.__path__), end='')"
    OUTPUT_VARIABLE paths ERROR_QUIET)
  set(${result} ${paths} PARENT_SCOPE)
endfunction()

# Keeps either <name>_cuda.cpp or <name>_nocuda.cpp in the list of sources. They lie in src/route, or in the folder
# given last.
function(slipstream_message_library name header library sources)
  set(folder ${ARGN})
  if(NOT folder)
    set(folder src/route)
  endif()
  string(TOUPPER ${name} upper)
  set(wanted ${SLIPSTREAM_${upper}})
  set(use OFF)
  if(SLIPSTREAM_CUDA AND NOT wanted STREQUAL "OFF")
    slipstream_python_nvidia(packages)
    list(TRANSFORM packages APPEND /${name})
    find_path(SLIPSTREAM_${upper}_INCLUDE ${header} HINTS ${SLIPSTREAM_${upper}_ROOT} ${packages}
              ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
    find_file(SLIPSTREAM_${upper}_FILE ${library} HINTS ${SLIPSTREAM_${upper}_ROOT} ${packages}
              ${CUDAToolkit_LIBRARY_DIR} PATH_SUFFIXES lib lib64)
    if(SLIPSTREAM_${upper}_INCLUDE)
      set(use ON)
    endif()
  endif()
  if(wanted STREQUAL "ON" AND NOT use)
    message(FATAL_ERROR "SLIPSTREAM_${upper}=ON needs SLIPSTREAM_CUDA=ON and ${header}: "
                        "set SLIPSTREAM_${upper}_ROOT to the folder that holds include/${header}")
  endif()
  set(list ${${sources}})
  if(use)
    message(STATUS "Library ${name}: ${SLIPSTREAM_${upper}_INCLUDE}/${header}")
    list(FILTER list EXCLUDE REGEX "/${name}_nocuda\\.cpp$")
    set(file ${SLIPSTREAM_${upper}_FILE})
    if(NOT file)
      set(file "")
    endif()
    set_property(SOURCE ${folder}/${name}_cuda.cpp APPEND PROPERTY
      COMPILE_DEFINITIONS "SLIPSTREAM_${upper}_LIBRARY=\"${file}\"")
    set(SLIPSTREAM_MESSAGE_INCLUDES ${SLIPSTREAM_MESSAGE_INCLUDES} ${SLIPSTREAM_${upper}_INCLUDE} PARENT_SCOPE)
  else()
    list(FILTER list EXCLUDE REGEX "/${name}_cuda\\.cpp$")
    list(APPEND list ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${name}_nocuda.cpp)
    list(REMOVE_DUPLICATES list)
  endif()
  set(${sources} ${list} PARENT_SCOPE)
endfunction()
