# Defines each library of the project: its folders of sources in src/, the libraries that it links, and how its files
# are compiled.
#
# A file's name says how: *_kernels.cpp as CUDA in a CUDA build, *_cuda.cpp, *_cuda_kernels.cpp and src/device/cuda only
# there, *_nocuda.cpp only elsewhere, the rest as plain C++. Files of a folder are joined into one translation unit of
# kernels and one of the rest.

# Sources that are not joined: they have definitions of their own, or take as long to compile as a whole folder.
set(SLIPSTREAM_ALONE "_cuda(_kernels)?\\.cpp$" "_nocuda\\.cpp$" "device/device\\.cpp$" device/cuda/ "fft/radix_stores\\.cpp$"
    fft/lines_ mover/program_ gather_scatter/gather_scatter_kernels gather_scatter/list_kernels "stencil/.*_kernels"
    "sem/.*_kernels" lbm/instances/)
list(JOIN SLIPSTREAM_ALONE "|" SLIPSTREAM_ALONE)

# Lists the files to compile for a folder of sources, src/<room>, and its subfolders.
function(slipstream_room result room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cpp)
  if(SLIPSTREAM_CUDA)
    list(FILTER sources EXCLUDE REGEX "_nocuda\\.cpp$")
  else()
    list(FILTER sources EXCLUDE REGEX "_cuda(_kernels)?\\.cpp$|/device/cuda/")
  endif()
  set(alone ${sources})
  list(FILTER alone INCLUDE REGEX "${SLIPSTREAM_ALONE}")
  list(FILTER sources EXCLUDE REGEX "${SLIPSTREAM_ALONE}")
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "_kernels\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_kernels\\.cpp$")
  string(REPLACE "/" "_" name ${room})
  slipstream_join(plain ${name} ${sources})
  slipstream_join(kernels ${name}_kernels ${kernels})
  set(${result} ${alone} ${plain} ${kernels} PARENT_SCOPE)
endfunction()

# slipstream_library(<name> SOURCES file... USES library... [PRIVATE library...]): a shared library, so that all modules
# of a process share its state. The engine is `slipstream`; another one is `slipstream_<name>`, exported as
# Slipstream::<name>.
function(slipstream_library name)
  cmake_parse_arguments(PARSE_ARGV 1 its "" "" "SOURCES;USES;PRIVATE")
  set(target slipstream_${name})
  if(name STREQUAL slipstream)
    set(target slipstream)
  endif()
  # The library gets a function that returns its version and a hash of the build folder. By these
  # src/device/build_match.cpp rejects libraries and modules of another build.
  string(MD5 folder ${CMAKE_BINARY_DIR})
  string(SUBSTRING ${folder} 0 8 folder)
  set(identity ${CMAKE_BINARY_DIR}/generated/build_of_${name}.cpp)
  file(CONFIGURE OUTPUT ${identity} @ONLY
       CONTENT "extern \"C\" const char* slipstream_${name}_build() { return \"${PROJECT_VERSION}-${folder}\"; }\n")
  slipstream_loops(its_SOURCES ${target} ${its_USES} ${its_PRIVATE})
  slipstream_kernels(${its_SOURCES})
  add_library(${target} SHARED ${its_SOURCES} ${identity})
  add_library(Slipstream::${name} ALIAS ${target})
  slipstream_compile_options(${target})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
                             PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC ${its_USES} PRIVATE ${its_PRIVATE})
  if(NOT SLIPSTREAM_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
  if(SLIPSTREAM_CUDA)
    target_include_directories(${target} PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    target_include_directories(${target} SYSTEM PRIVATE ${SLIPSTREAM_MESSAGE_INCLUDES})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN"
                        DEFINE_SYMBOL "")
  set_property(GLOBAL APPEND PROPERTY SLIPSTREAM_LIBRARIES ${target})
endfunction()
