# Sanitizers apply to everything that is compiled, or their reports would be incomplete.
if(G4_SANITIZE)
  add_compile_options(-fsanitize=${G4_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${G4_SANITIZE})
endif()
if(G4_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
