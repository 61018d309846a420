# g4_warnings(<target> [<option>...]): the project's warnings, errors in developer mode.
# -Wrestrict is left out: GCC 12 and 13 see overlaps in std::string where there are none (bug 105329).
function(g4_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow ${ARGN}
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<BOOL:${G4_DEVELOPER}>:-Werror>)
endfunction()
