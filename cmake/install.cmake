# Installs the libraries, their headers, and the description that find_package(Slipstream) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(SLIPSTREAM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Slipstream)

get_property(libraries GLOBAL PROPERTY SLIPSTREAM_LIBRARIES)
install(TARGETS ${libraries} EXPORT SlipstreamTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/slipstream DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(TARGETS slipstream_coding EXPORT SlipstreamTargets)
foreach(header coding/block_cells coding/blockfloat coding/cast coding/wire coding/zfp device/word16
        exchange/coding_errors_kernel
        exchange/coding_errors_kernels exchange/own_coding_kernels mover/coded_words mover/combine mover/ends mover/message
        mover/mover mover/program mover/program_kernel mover/tiles mover/words)
  cmake_path(GET header PARENT_PATH room)
  install(FILES src/${header}.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/slipstream/kernels/${room})
endforeach()
install(EXPORT SlipstreamTargets NAMESPACE Slipstream:: DESTINATION ${SLIPSTREAM_PACKAGE_DIR})
configure_package_config_file(cmake/SlipstreamConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/SlipstreamConfig.cmake
                              INSTALL_DESTINATION ${SLIPSTREAM_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/SlipstreamConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/SlipstreamConfig.cmake
              ${CMAKE_BINARY_DIR}/generated/SlipstreamConfigVersion.cmake DESTINATION ${SLIPSTREAM_PACKAGE_DIR})
