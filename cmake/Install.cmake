# `cmake --install` lays out the program, the public headers and one static library per room, with a package
# file so that find_package(headspan) gives headspan::<room>.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(rooms GLOBAL PROPERTY HEADSPAN_ROOMS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/headspan)

if(TARGET headspan_cli)
  install(TARGETS headspan_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

if(rooms)
  install(TARGETS ${rooms} EXPORT headspanTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT headspanTargets NAMESPACE headspan:: DESTINATION ${package_dir})
endif()

# Public headers need the standard library and Eigen only; the one below serves the rooms among themselves
# (tools/check_layers lists the same).
install(DIRECTORY include/headspan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h"
        PATTERN "numeric/json.h" EXCLUDE)

configure_package_config_file(cmake/headspanConfig.cmake.in headspanConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(headspanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/headspanConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/headspanConfigVersion.cmake
        DESTINATION ${package_dir})
