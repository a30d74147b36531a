# Installs the build into an empty prefix and builds the examples against it, as an independent project would. Runs them
# on two ranks; GPU examples only with a GPU.
# Usage: cmake -DBUILD=... -DSOURCE=... -DGENERATOR=... -DLAUNCHER="mpiexec;-n;2;..." -DCXX=... -DCUDA=ON or OFF
#              -DCUDACXX=... -DARCHITECTURES=... -P installed.cmake
set(work ${BUILD}/installed)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}: ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(cuda "")
if(CUDA)
  set(cuda -DCMAKE_CUDA_COMPILER=${CUDACXX} "-DCMAKE_CUDA_ARCHITECTURES=${ARCHITECTURES}")
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${work}/build -DCMAKE_PREFIX_PATH=${work}/prefix
    -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release ${cuda})
run(${CMAKE_COMMAND} --build ${work}/build)
file(STRINGS ${work}/build/CMakeCache.txt found REGEX "^Slipstream_DIR:PATH=${work}/prefix/")
if(NOT found)
  message(FATAL_ERROR "the examples found another Slipstream than the one under ${work}/prefix")
endif()

set(programs own_arrays own_coding gather_scatter transpose fft stencil)
if(CUDA)
  execute_process(COMMAND nvidia-smi -L RESULT_VARIABLE no_gpu OUTPUT_QUIET ERROR_QUIET)
  if(no_gpu EQUAL 0)
    list(APPEND programs own_arrays_cuda)
  endif()
endif()
foreach(program IN LISTS programs)
  run(${LAUNCHER} ${work}/build/${program})
  foreach(rank 0 1)
    if(NOT output MATCHES "rank ${rank}: (ghosts on the left hold|2 1 2|the Laplacian of a wave is right|every line along z is here|the wave decays)")
      message(FATAL_ERROR "${program} did not report from rank ${rank}:\n${output}")
    endif()
  endforeach()
endforeach()
