# What `cmake --install` puts where: headers, libraries, the command line tool with its demo model, and how to find them (CMake, pkg-config).
include(CMakePackageConfigHelpers)
set(g4_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/g4)

install(DIRECTORY include/g4 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS g4 EXPORT g4Targets)
install(EXPORT g4Targets NAMESPACE g4:: DESTINATION ${g4_cmake_dir})
# The static library asks its users for Abseil, so it can be offered only where Abseil is a package.
if(g4_abseil_is_package)
  install(TARGETS g4_static EXPORT g4StaticTargets)
  install(EXPORT g4StaticTargets NAMESPACE g4:: DESTINATION ${g4_cmake_dir})
endif()
if(TARGET g4_cli)
  install(TARGETS g4_cli)
  install(DIRECTORY examples/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/g4 FILES_MATCHING PATTERN *.gguf)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/g4Config.cmake.in g4Config.cmake INSTALL_DESTINATION ${g4_cmake_dir}
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(g4ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/g4Config.cmake ${PROJECT_BINARY_DIR}/g4ConfigVersion.cmake DESTINATION ${g4_cmake_dir})

set(g4_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH g4_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/g4.pc.in g4.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/g4.pc DESTINATION ${g4_pc_dir})
