# g4_warnings(<target> [<option>...]): the project's warnings, errors in developer mode.
function(g4_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow ${ARGN} $<$<BOOL:${G4_DEVELOPER}>:-Werror>)
endfunction()
