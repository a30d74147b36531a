# Installs the libraries, their headers, and the description that find_package(Slipstream) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(SLIPSTREAM_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Slipstream)

get_property(libraries GLOBAL PROPERTY SLIPSTREAM_LIBRARIES)
install(TARGETS ${libraries} EXPORT SlipstreamTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/slipstream DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT SlipstreamTargets NAMESPACE Slipstream:: DESTINATION ${SLIPSTREAM_PACKAGE_DIR})
configure_package_config_file(cmake/SlipstreamConfig.cmake.in ${CMAKE_BINARY_DIR}/generated/SlipstreamConfig.cmake
                              INSTALL_DESTINATION ${SLIPSTREAM_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/SlipstreamConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/SlipstreamConfig.cmake
              ${CMAKE_BINARY_DIR}/generated/SlipstreamConfigVersion.cmake DESTINATION ${SLIPSTREAM_PACKAGE_DIR})
