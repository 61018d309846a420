# The command line tool: a client of the public headers only. In the build tree it lies as it does when installed: bin/g4, with the demo
# model in share/g4/.
file(GLOB g4_cli_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cc)
if(g4_cli_sources)
  g4_need(CLI11 nlohmann_json)
  # Readers of pictures and sounds: of the tool alone, the library takes pixels and samples. A library of their own for tests and fuzz targets.
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(G4_MEDIA_FILES REQUIRED IMPORTED_TARGET libpng libturbojpeg sndfile)
  set(g4_media_files exif.cc media_files.cc terminal.cc)
  list(TRANSFORM g4_media_files PREPEND ${PROJECT_SOURCE_DIR}/src/cli/)
  add_library(g4_media_files STATIC ${g4_media_files})
  target_include_directories(g4_media_files PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(g4_media_files PUBLIC PkgConfig::G4_MEDIA_FILES g4 Threads::Threads)
  g4_warnings(g4_media_files -Wconversion)

  list(REMOVE_ITEM g4_cli_sources ${g4_media_files})
  add_executable(g4_cli ${g4_cli_sources})
  set_target_properties(g4_cli PROPERTIES OUTPUT_NAME g4 RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
                                          INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
  target_include_directories(g4_cli PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(g4_cli PRIVATE g4_media_files g4 CLI11::CLI11 nlohmann_json::nlohmann_json Threads::Threads)
  g4_warnings(g4_cli -Wconversion)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/examples/models ${PROJECT_BINARY_DIR}/share/g4 SYMBOLIC)
endif()
