set(SLIPSTREAM_JOINED_FOLDER ${CMAKE_BINARY_DIR}/joined CACHE PATH
    "Where files lie that join sources: builds that have it in common compile the same files, and ccache compiles them once")

# Sets <result> to the path of a source relative to src/ or tests/, as an #include names it.
function(slipstream_included_as result source)
  get_filename_component(source ${source} ABSOLUTE)
  file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR} ${source})
  string(REGEX REPLACE "^(src|tests)/" "" source ${source})
  set(${result} ${source} PARENT_SCOPE)
endfunction()

# Sets <result> to a file <name>.cpp that includes the sources, which lie in src/ or tests/. One unit parses their
# common headers once. The name of a file that joins *_kernels.cpp ends in _kernels. It stands for the same sources in
# every build, because builds may share the folder. A single source is not joined, and no source gives no file.
function(slipstream_join result name)
  list(LENGTH ARGN count)
  if(count LESS_EQUAL 1)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(content)
  foreach(source ${ARGN})
    slipstream_included_as(included ${source})
    string(APPEND content "#include \"${included}\"\n")
  endforeach()
  set(joined ${SLIPSTREAM_JOINED_FOLDER}/${name}.cpp)
  file(CONFIGURE OUTPUT ${joined} CONTENT "${content}" @ONLY)  # file(CONFIGURE) keeps the time stamp of an unchanged file
  set(${result} ${joined} PARENT_SCOPE)
endfunction()

# Sets <result> to a file for nvcc that includes a source of kernels, or all sources of a joined file. Loops that run
# kernels on the host are left out, because g++ compiles them.
function(slipstream_as_cuda result source)
  slipstream_included_as(included ${source})
  set(content "#include \"${included}\"\n")
  cmake_path(IS_PREFIX SLIPSTREAM_JOINED_FOLDER ${source} joined)
  if(joined)
    file(READ ${source} content)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${SLIPSTREAM_JOINED_FOLDER} OUTPUT_VARIABLE included)
  endif()
  string(REGEX REPLACE "\\.cpp$" ".cu" included ${included})
  set(cuda ${SLIPSTREAM_JOINED_FOLDER}/${included})
  file(CONFIGURE OUTPUT ${cuda} CONTENT "#define SLIPSTREAM_LOOPS_APART 1\n${content}" @ONLY)
  set(${result} ${cuda} PARENT_SCOPE)
endfunction()

# Sets <result> to files that join the sources of each folder, at most <most> sources in a file; kernels are joined
# separately.
function(slipstream_join_rooms result most)
  set(rooms)
  set(all)
  foreach(source ${ARGN})
    slipstream_included_as(included ${source})
    get_filename_component(room ${included} DIRECTORY)
    string(REGEX MATCH "_kernels\\.cpp$" kernels ${included})
    list(APPEND sources_of_${room}:${kernels} ${source})
    list(APPEND rooms ${room}:${kernels})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room ${rooms})
    list(LENGTH sources_of_${room} count)
    math(EXPR parts "(${count} + ${most} - 1) / ${most}")
    foreach(part RANGE 1 ${parts})
      math(EXPR first "${count} * (${part} - 1) / ${parts}")
      math(EXPR length "${count} * ${part} / ${parts} - ${first}")
      list(SUBLIST sources_of_${room} ${first} ${length} sources)
      string(REPLACE ":" "_${part}" name ${room})
      string(REPLACE ".cpp" "" name ${name})
      slipstream_join(joined ${name} ${sources})
      list(APPEND all ${joined})
    endforeach()
  endforeach()
  set(${result} ${all} PARENT_SCOPE)
endfunction()
