# Abseil inside a shared library. Debian and Ubuntu compile its archives for executables (-fPIE); such code can be linked into libg4.so
# only if what it refers to directly is inside too: the C++ run-time library comes in as an archive, and the few functions that use
# thread-local storage in a way only executables may are replaced by those of abseil_pie.cc. Sets
# g4_abseil_is_pie, and g4_abseil_is_package: found on the system, not downloaded.
# Not usable in src for this reason: absl/container/*hash* and absl/strings/str_format.h (tests/rules checks it).
set(g4_pie_options -static-libstdc++ -static-libgcc)
set(g4_pie_sources ${PROJECT_SOURCE_DIR}/cmake/abseil_pie.cc)
get_target_property(g4_abseil_is_package absl::status IMPORTED)
set(g4_abseil_is_pie OFF)
if(g4_abseil_is_package AND NOT G4_SANITIZE)
  function(g4_probe_abseil result)  # the rest: what is needed for linking
    cmake_parse_arguments(PARSE_ARGV 1 with "" "" "SOURCES;OPTIONS")
    try_compile(${result} ${PROJECT_BINARY_DIR}/probe/${result}
                SOURCES ${PROJECT_SOURCE_DIR}/cmake/abseil_probe.cc ${with_SOURCES}
                COMPILE_DEFINITIONS -fPIC
                LINK_OPTIONS -shared -Wl,--no-undefined -Wl,--exclude-libs,ALL ${with_OPTIONS}
                LINK_LIBRARIES absl::status absl::statusor absl::strings
                CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
  endfunction()
  g4_probe_abseil(g4_abseil_is_pic)
  if(NOT g4_abseil_is_pic)
    g4_probe_abseil(g4_abseil_links_as_pie SOURCES ${g4_pie_sources} OPTIONS ${g4_pie_options})
    if(NOT g4_abseil_links_as_pie)
      message(FATAL_ERROR "The Abseil archives of this system do not link into a shared library. Use the pinned version: "
                          "cmake -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=NEVER")
    endif()
    set(g4_abseil_is_pie ON)
  endif()
endif()
