# Where the packages come from: the system's if it has them, else a pinned download. g4_need(<name>...) makes packages available;
# nothing is searched for or downloaded that is not needed.
include(FetchContent)

set(ABSL_PROPAGATE_CXX_STD ON)
set(ABSL_ENABLE_INSTALL OFF)
set(FLATBUFFERS_BUILD_TESTS OFF)
set(FLATBUFFERS_INSTALL OFF)
set(EIGEN_BUILD_DOC OFF)
set(CLI11_BUILD_TESTS OFF)
set(CLI11_BUILD_EXAMPLES OFF)

function(g4_package name repository commit)  # the rest: arguments of find_package
  FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${commit} FIND_PACKAGE_ARGS ${ARGN})
endfunction()
g4_package(absl https://github.com/abseil/abseil-cpp.git 8c0b94e793a66495e0b1f34a5eb26bd7dc672db0)  # 20220623.1
g4_package(Eigen3 https://gitlab.com/libeigen/eigen.git 3147391d946bb4b6c68edd901f2add6ac1f31f8c 3.4)  # 3.4.0
g4_package(FlatBuffers https://github.com/google/flatbuffers.git 06c5c7ed0bd987a918cf88caafb094f22cdd1721)  # 2.0.8
g4_package(nlohmann_json https://github.com/nlohmann/json.git bc889afb4c5bf1c0d8ee29ef35eaaf4c8bef8a5d 3.11)  # 3.11.2
g4_package(CLI11 https://github.com/CLIUtils/CLI11.git 70f8072f9dd2292fd0b9f9e5f58e279f60483ed3 2.1)  # 2.1.2
g4_package(Catch2 https://github.com/catchorg/Catch2.git 182c910b4b63ff587a3440e08f84f70497e49a81 2.13)  # 2.13.10

# Points imported shared libraries at the static archives beside them, so that what is built from them needs no package at run time.
macro(g4_prefer_archives)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS imported)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    if(configurations)
      foreach(configuration IN LISTS configurations)
        get_target_property(shared ${target} IMPORTED_LOCATION_${configuration})
        string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${shared}")
        if(NOT archive STREQUAL shared AND EXISTS ${archive})
          set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${archive}
                                                     IMPORTED_SONAME_${configuration} "" IMPORTED_NO_SONAME_${configuration} ON)
        endif()
      endforeach()
    endif()
  endforeach()
endmacro()

macro(g4_need)
  FetchContent_MakeAvailable(${ARGN})
  if(NOT G4_SANITIZE)  # what is run in place may need packages, and links more simply
    g4_prefer_archives()
  endif()
endmacro()

# xxHash is used as a header and comes without a CMake package.
find_path(G4_XXHASH_INCLUDE xxhash.h)
if(NOT G4_XXHASH_INCLUDE)
  FetchContent_Declare(xxHash GIT_REPOSITORY https://github.com/Cyan4973/xxHash.git
                       GIT_TAG 35b0373c697b5f160d3db26b1cbb45a0d5ba788c SOURCE_SUBDIR none)  # 0.8.1
  FetchContent_MakeAvailable(xxHash)
  FetchContent_GetProperties(xxHash SOURCE_DIR G4_XXHASH_INCLUDE)
endif()

# The resampler of SpeexDSP comes without a CMake package. g4_speexdsp_links: its archive by name, so that an installed g4 can be moved;
# without the package g4_speexdsp_sources: the one file it is made of.
find_path(G4_SPEEXDSP_INCLUDE speex/speex_resampler.h)
find_library(G4_SPEEXDSP_ARCHIVE libspeexdsp.a)
if(G4_SPEEXDSP_INCLUDE AND G4_SPEEXDSP_ARCHIVE)
  set(g4_speexdsp_links -l:libspeexdsp.a)
else()
  FetchContent_Declare(SpeexDSP GIT_REPOSITORY https://github.com/xiph/speexdsp.git
                       GIT_TAG 1b28a0f61bc31162979e1f26f3981fc3637095c8 SOURCE_SUBDIR none)  # 1.2.1
  FetchContent_MakeAvailable(SpeexDSP)
  FetchContent_GetProperties(SpeexDSP SOURCE_DIR speexdsp_dir)
  set(G4_SPEEXDSP_INCLUDE ${speexdsp_dir}/include)
  set(g4_speexdsp_sources ${speexdsp_dir}/libspeexdsp/resample.c)
  file(WRITE ${speexdsp_dir}/include/speex/speexdsp_config_types.h "#include <stdint.h>\ntypedef int16_t spx_int16_t;\n\
typedef uint16_t spx_uint16_t;\ntypedef int32_t spx_int32_t;\ntypedef uint32_t spx_uint32_t;\n")
  set_source_files_properties(${g4_speexdsp_sources} PROPERTIES COMPILE_DEFINITIONS "FLOATING_POINT;EXPORT=")
endif()
