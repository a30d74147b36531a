set(SLIPSTREAM_JOINED_FOLDER ${CMAKE_BINARY_DIR}/joined CACHE PATH
    "Where files lie that join sources: builds that have it in common compile the same files, and ccache compiles them once")

# Sets <result> to a file <name>.cpp that includes the sources, which lie in src/ or tests/: one unit costs the headers of
# all of them once. A <name> that ends in _kernels is for *_kernels.cpp. It stands for the same sources in every build, since
# builds may share the folder. A source alone is its own file.
function(slipstream_join result name)
  list(LENGTH ARGN count)
  if(count EQUAL 1)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(content)
  foreach(source ${ARGN})
    get_filename_component(source ${source} ABSOLUTE)
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
    string(REGEX REPLACE "^(src|tests)/" "" source ${source})
    string(APPEND content "#include \"${source}\"\n")
  endforeach()
  set(joined ${SLIPSTREAM_JOINED_FOLDER}/${name}.cpp)
  file(CONFIGURE OUTPUT ${joined} CONTENT "${content}" @ONLY)  # leaves a file of the same content as it is
  set(${result} ${joined} PARENT_SCOPE)
endfunction()
