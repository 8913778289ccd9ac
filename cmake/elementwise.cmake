# Writes wick/elementwise.h from the rows of src/kernels/elementwise/table.h, so that an op stays one row in one place.
function(wick_write_elementwise table output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(READ ${table} text)
  string(REPLACE ";" "," text "${text}")
  string(REGEX REPLACE " *\\\\\n" "\n" text "${text}")
  string(REGEX REPLACE "\n    +" " " text "${text}")
  string(REGEX MATCHALL "\n EW\\([^\n]*" rows "${text}")
  set(functions "")
  set(macros "")
  foreach(row ${rows})
    string(REGEX MATCH "EW\\(([a-z0-9_]+), ([123]),.*, \"([^\"]*)\", \"[^\"]*\", \"[^\"]*\"\\)" found "${row}")
    if(NOT found)
      message(FATAL_ERROR "${table}: no name, arity and doc in row: ${row}")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(doc "${CMAKE_MATCH_3}")
    set(args "wick_tensor *a")
    if(CMAKE_MATCH_2 GREATER 1)
      string(APPEND args ", wick_tensor *b")
    endif()
    if(CMAKE_MATCH_2 GREATER 2)
      string(APPEND args ", wick_tensor *c")
    endif()
    string(APPEND functions "WICK_API wick_tensor *wick_${name}(${args}); /* ${doc} */\n")
    string(APPEND macros "#define wick_${name}(...) WICK_TENSOR_HERE(wick_${name}(__VA_ARGS__))\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT "/* wick/elementwise.h: the elementwise ops. Generated from src/kernels/elementwise/table.h: change rows there. */
#ifndef WICK_ELEMENTWISE_H
#define WICK_ELEMENTWISE_H

#include \"wick/tensor.h\"

#ifdef __cplusplus
extern \"C\" {
#endif

${functions}
#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
${macros}#endif
#endif
")
endfunction()
