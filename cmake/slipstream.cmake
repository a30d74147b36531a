# The libraries above the engine, each after the libraries that it depends on.
set(SLIPSTREAM_PARTS collective gather_scatter fft krylov lbm stencil dns sem)
set(SLIPSTREAM_USES_krylov collective)
set(SLIPSTREAM_USES_stencil krylov)
set(SLIPSTREAM_USES_dns fft collective)
set(SLIPSTREAM_USES_sem krylov gather_scatter)

# Sets <result> to the targets that a library links: the engine, and the libraries in its SLIPSTREAM_USES_<name>.
function(slipstream_uses result name)
  set(targets ${SLIPSTREAM_USES_${name}})
  list(TRANSFORM targets PREPEND slipstream_)
  set(${result} slipstream ${targets} PARENT_SCOPE)
endfunction()

# The processor for which host kernels are compiled: that of this machine, or any with AVX2, which all hosts of GPUs
# have. Builds for AVX2 share results through ccache, whatever the machine.
if(SLIPSTREAM_NATIVE)
  set(SLIPSTREAM_MARCH -march=native)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(SLIPSTREAM_MARCH -march=x86-64-v3)
endif()

# Compiles sources named *_kernels.cpp as CUDA in a CUDA build, otherwise as C++ for the processor that SLIPSTREAM_MARCH
# names. All other sources are compiled as C++ without this option.
function(slipstream_kernels)
  list(FILTER ARGN INCLUDE REGEX "_kernels\\.cpp$")
  if(SLIPSTREAM_CUDA)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  else()
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${SLIPSTREAM_MARCH}")
  endif()
endfunction()

# In a CUDA build g++ compiles the host loops of kernels as in other builds, so that ccache can share the objects. The
# compiler nvcc gets a file <name>.cu with the same content but without these loops. The objects of g++ are joined into one
# object that exports only the loops. It initialises nothing, because nvcc's objects do. A missing loop is an error of the
# linker. The function replaces kernels in a list of sources. `target` uses the given libraries.
function(slipstream_loops sources target)
  set(kernels ${${sources}})
  list(FILTER kernels INCLUDE REGEX "_kernels\\.cpp$")
  list(FILTER kernels EXCLUDE REGEX "_cuda_kernels\\.cpp$|/device/cuda/")
  if(NOT SLIPSTREAM_CUDA OR NOT kernels)
    return()
  endif()
  set(others ${${sources}})
  list(REMOVE_ITEM others ${kernels})
  foreach(kernel ${kernels})
    slipstream_as_cuda(cuda ${kernel})
    list(APPEND others ${cuda})
  endforeach()
  set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS "${SLIPSTREAM_MARCH}")
  add_library(${target}_loops OBJECT ${kernels})
  slipstream_compile_options(${target}_loops)
  target_include_directories(${target}_loops PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${target}_loops PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  target_link_libraries(${target}_loops PRIVATE ${ARGN})
  set(loops ${CMAKE_BINARY_DIR}/loops/${target}.o)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/loops)
  add_custom_command(OUTPUT ${loops} DEPENDS $<TARGET_OBJECTS:${target}_loops> VERBATIM COMMAND_EXPAND_LISTS
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${loops} $<TARGET_OBJECTS:${target}_loops>
    COMMAND ${CMAKE_OBJCOPY} --wildcard --weaken --keep-global-symbol=_ZN10slipstream4host*launch*
            --remove-section=.init_array* ${loops}
    COMMENT "Joining the host's loops of ${target}")
  set_source_files_properties(${loops} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${sources} ${others} ${loops} PARENT_SCOPE)
endfunction()

# Warnings, and options for deterministic arithmetic: neither compiler contracts to fused operations.
function(slipstream_compile_options target)
  set(host -ffp-contract=off -fno-math-errno -fno-trapping-math)
  if(SLIPSTREAM_SANITIZE)
    list(APPEND host -fsanitize=${SLIPSTREAM_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(${target} PUBLIC -fsanitize=${SLIPSTREAM_SANITIZE})
    if(SLIPSTREAM_SANITIZE STREQUAL "thread")
      target_compile_definitions(${target} PUBLIC SLIPSTREAM_KERNELS_ON_WORKER=1)
    endif()
  endif()
  list(JOIN host "," forwarded)
  if(SLIPSTREAM_MARCH)
    string(APPEND forwarded ,${SLIPSTREAM_MARCH})
  endif()
  # A larger heap lets g++ collect garbage less often: compilation takes 3 to 6 % less time and up to 130 MB more
  # memory.
  set(seldom $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)
  target_compile_options(${target} PRIVATE ${seldom}
    $<$<COMPILE_LANGUAGE:CXX>:${host} -Wall -Wextra -Wno-subobject-linkage>  # joining sources into one unit causes subobject-linkage warnings
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --Werror=cross-execution-space-call --extended-lambda -Xcompiler=${forwarded} --expt-relaxed-constexpr>)
endfunction()
