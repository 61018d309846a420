# The only place with flags for instruction sets: each row of src/kernels/select.cc is one file compiled with the flags its name
# stands for; everything else is compiled for the baseline processor.

# g4_add_isa_row(<name> <processors> <flags>...): src/kernels/isa_<name>.cc on processors that match, left out on others.
function(g4_add_isa_row name processors)
  set(file ${PROJECT_SOURCE_DIR}/src/kernels/isa_${name}.cc)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "${processors}")
    set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS ${ARGN})
    string(TOUPPER G4_ISA_${name} definition)
    set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/kernels/select.cc APPEND PROPERTY COMPILE_DEFINITIONS ${definition})
  else()
    set_property(SOURCE ${file} PROPERTY HEADER_FILE_ONLY ON)
  endif()
endfunction()

function(g4_add_isa)
  # A product and a sum round twice where the source writes them so: decoding is exact, and no result depends on what the compiler
  # happened to fuse.
  file(GLOB exact ${PROJECT_SOURCE_DIR}/src/kernels/isa_*.cc ${PROJECT_SOURCE_DIR}/src/quant/*.cc)
  set_property(SOURCE ${exact} APPEND PROPERTY COMPILE_OPTIONS -ffp-contract=off)

  g4_add_isa_row(avx2 "x86_64|AMD64" -mavx2 -mfma -mf16c)
  # GCC 12 warns of its own header (its bug 105593).
  set(avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -Wno-uninitialized -Wno-maybe-uninitialized)
  g4_add_isa_row(avx512 "x86_64|AMD64" ${avx512})
  g4_add_isa_row(avx512vnni "x86_64|AMD64" ${avx512} -mavx512vnni)
  g4_add_isa_row(amx "x86_64|AMD64" ${avx512} -mavx512vnni -mamx-tile -mamx-int8)
  g4_add_isa_row(neon "aarch64|arm64|ARM64")
  g4_add_isa_row(neon_dotprod "aarch64|arm64|ARM64" -march=armv8.2-a+dotprod)
  g4_add_isa_row(neon_i8mm "aarch64|arm64|ARM64" -march=armv8.2-a+dotprod+i8mm)
endfunction()
