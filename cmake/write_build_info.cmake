# Runs at each build (cmake -P). configure_file keeps an unchanged file, so a new commit compiles one small file.
set(COMMIT "$ENV{SLIPSTREAM_COMMIT}")
if(NOT COMMIT)
  execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND git status --porcelain --untracked-files=no WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(COMMIT AND changes)
    string(APPEND COMMIT "+changes")
  endif()
endif()
if(NOT COMMIT)
  set(COMMIT unknown)
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
