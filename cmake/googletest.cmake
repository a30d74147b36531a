# Uses the system's GoogleTest, or builds it from the sources in Debian's package.
find_package(GTest QUIET)
if(NOT GTest_FOUND)
  find_path(GOOGLETEST_SOURCES googletest/include/gtest/gtest.h NO_DEFAULT_PATH
            PATHS /usr/src/googletest)
  if(NOT GOOGLETEST_SOURCES)
    message(FATAL_ERROR "GoogleTest is missing: install libgtest-dev, or configure with -DSLIPSTREAM_TESTS=OFF.")
  endif()
  set(INSTALL_GTEST OFF)
  set(BUILD_GMOCK OFF)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.10)
  add_subdirectory(${GOOGLETEST_SOURCES} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()
