# Sanitizers apply to everything that is compiled, or their reports would be incomplete; only the checks that tests are full of are left
# without the undefined-behaviour part (tests/CMakeLists.txt). Little optimisation but in the kernels: it takes most of the time to compile.
if(G4_SANITIZE)
  add_compile_options(-fsanitize=${G4_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${G4_SANITIZE})
  file(GLOB kernels ${PROJECT_SOURCE_DIR}/src/kernels/isa_*.cc)
  set_property(SOURCE ${kernels} APPEND PROPERTY COMPILE_OPTIONS -O2)
endif()
if(G4_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
