# The libraries on the engine, each behind those that it stands on.
set(SLIPSTREAM_PARTS collective gather_scatter fft krylov lbm stencil dns sem)
set(SLIPSTREAM_USES_krylov collective)
set(SLIPSTREAM_USES_stencil krylov)
set(SLIPSTREAM_USES_dns fft collective)
set(SLIPSTREAM_USES_sem krylov gather_scatter)

# Sets <result> to the targets that a library links: the engine, and the libraries in the table above.
function(slipstream_uses result name)
  set(targets ${SLIPSTREAM_USES_${name}})
  list(TRANSFORM targets PREPEND slipstream_)
  set(${result} slipstream ${targets} PARENT_SCOPE)
endfunction()

# Compiles *_kernels.cpp as CUDA in a CUDA build, and elsewhere for this machine's processor. Nothing else is compiled for
# it: so that builds with and without CUDA share what they compile of the rest, by way of ccache.
function(slipstream_kernels)
  list(FILTER ARGN INCLUDE REGEX "_kernels\\.cpp$")
  if(SLIPSTREAM_CUDA)
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  elseif(SLIPSTREAM_NATIVE)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -march=native)
  endif()
endfunction()

# Warnings, and the arithmetic that determinism asks for: no contraction to fused operations in either compiler.
function(slipstream_compile_options target)
  set(host -ffp-contract=off -fno-math-errno -fno-trapping-math)
  if(SLIPSTREAM_NATIVE AND SLIPSTREAM_CUDA)
    set(native ,-march=native)
  endif()
  if(SLIPSTREAM_SANITIZE)
    list(APPEND host -fsanitize=${SLIPSTREAM_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(${target} PUBLIC -fsanitize=${SLIPSTREAM_SANITIZE})
    if(SLIPSTREAM_SANITIZE STREQUAL "thread")
      target_compile_definitions(${target} PUBLIC SLIPSTREAM_KERNELS_ON_WORKER=1)
    endif()
  endif()
  list(JOIN host "," forwarded)
  # g++ then collects its garbage seldom: the same objects in 3 to 6 % less time, with up to 130 MB more memory.
  set(seldom $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1048576>)
  target_compile_options(${target} PRIVATE ${seldom}
    $<$<COMPILE_LANGUAGE:CXX>:${host} -Wall -Wextra -Wno-subobject-linkage>  # the last warns of joined files alone
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --Werror=cross-execution-space-call --extended-lambda -Xcompiler=${forwarded}${native} --expt-relaxed-constexpr>)
endfunction()
