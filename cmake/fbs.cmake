# FlatBuffers schemas: src/<folder>/<name>.fbs becomes <name>_generated.h in the build folder. Only headers are used, nothing is linked.
g4_need(FlatBuffers)
find_program(G4_FLATC flatc)
if(NOT G4_FLATC)
  set(G4_FLATC flatc)  # the target of the download
endif()

file(GLOB g4_schemas CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.fbs)
foreach(schema IN LISTS g4_schemas)
  get_filename_component(name ${schema} NAME_WE)
  set(header ${PROJECT_BINARY_DIR}/generated/${name}_generated.h)
  add_custom_command(OUTPUT ${header} COMMAND ${G4_FLATC} --cpp -o ${PROJECT_BINARY_DIR}/generated ${schema}
                     DEPENDS ${schema} VERBATIM)
  target_sources(g4_objects PRIVATE ${header})
endforeach()
target_include_directories(g4_objects SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/generated ${G4_XXHASH_INCLUDE}
                           $<TARGET_PROPERTY:flatbuffers::flatbuffers,INTERFACE_INCLUDE_DIRECTORIES>)
