# What `cmake --install` puts in place: headers, both libraries, wick.pc and the CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(WICK_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/wick)

install(DIRECTORY include/wick ${WICK_GENERATED}/wick DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h)
# The reference of the API, where there is what it takes to make it.
find_program(WICK_BASH bash)
if(WICK_BASH)
  file(GLOB api_headers CONFIGURE_DEPENDS include/wick/*.h)
  list(APPEND api_headers ${WICK_GENERATED}/wick/elementwise.h)
  set(api_pages ${PROJECT_BINARY_DIR}/api)
  add_custom_command(OUTPUT ${api_pages}/contents.html DEPENDS scripts/api_pages ${api_headers} VERBATIM
    COMMAND ${WICK_BASH} ${PROJECT_SOURCE_DIR}/scripts/api_pages ${api_pages} ${api_headers})
  add_custom_target(wick_api ALL DEPENDS ${api_pages}/contents.html)
  install(DIRECTORY ${api_pages} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
install(TARGETS wick_static wick_shared EXPORT wick-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wick-targets NAMESPACE wick:: DESTINATION ${WICK_PACKAGE_DIR})

configure_package_config_file(cmake/wick-config.cmake.in ${PROJECT_BINARY_DIR}/wick-config.cmake
  INSTALL_DESTINATION ${WICK_PACKAGE_DIR} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/wick-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wick-config.cmake ${PROJECT_BINARY_DIR}/wick-config-version.cmake
  DESTINATION ${WICK_PACKAGE_DIR})

# wick.pc finds its prefix from where it lies, so that an installed tree may be moved.
file(RELATIVE_PATH WICK_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" WICK_PC_PREFIX "${WICK_PC_PREFIX}")
configure_file(cmake/wick.pc.in ${PROJECT_BINARY_DIR}/wick.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wick.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
