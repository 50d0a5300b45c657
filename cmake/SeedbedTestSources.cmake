# GoogleTest precompiled for the test programs, which is most of what their sources take to compile.
# Nothing else gains: in the rooms code generation, not parsing, takes the time. Test sources
# include what they use all the same: `make lint` compiles without this.
option(SEEDBED_PCH "precompile GoogleTest" OFF)
# Without optimisation test sources compile faster and still run fast enough.
set(SEEDBED_TEST_FLAGS "" CACHE STRING "more compile flags for test sources")

if(SEEDBED_PCH AND SEEDBED_TESTS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
  if(CCACHE)
    # What ccache needs to see through precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  endif()
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_pch.cc" CONTENT "// Only carries a header.\n")
  add_library(seedbed_test_pch OBJECT "${CMAKE_BINARY_DIR}/test_pch.cc")
  target_link_libraries(seedbed_test_pch
                        PRIVATE fmt::fmt GTest::gtest GTest::gmock)
  seedbed_flags(seedbed_test_pch)
  # The flags must be those of the programs that use it.
  set_target_properties(seedbed_test_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(seedbed_test_pch PRIVATE -fPIE ${SEEDBED_TEST_FLAGS})
  target_precompile_headers(seedbed_test_pch PRIVATE
                            <algorithm> <chrono> <filesystem> <functional> <map> <memory>
                            <optional> <set> <string> <variant> <vector> <gtest/gtest.h>
                            <gmock/gmock.h>)
endif()

# Flags and precompiled headers of a program of test sources.
function(seedbed_test_sources target)
  target_compile_options(${target} PRIVATE ${SEEDBED_TEST_FLAGS})
  if(TARGET seedbed_test_pch)
    target_precompile_headers(${target} REUSE_FROM seedbed_test_pch)
  endif()
endfunction()
