# A room is a folder of src/ and one library, seedbed_NAME. What it may include is what it links:
# tests/layers.py holds the includes against these lists.
#
#   seedbed_room(study ROOMS base LIBRARIES yaml-cpp)
#
# Sources are the folder's *.cc without main.cc; its *_test.cc become one test program, NAME_test.

set(SEEDBED_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Werror)
# g++ 12 takes "a" + std::string for an overlapping copy (its bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND SEEDBED_WARNINGS -Wno-restrict)
endif()

function(seedbed_flags target)
  target_compile_options(${target} PRIVATE ${SEEDBED_WARNINGS})
  target_include_directories(${target} PUBLIC "${CMAKE_SOURCE_DIR}/src")
  if(SEEDBED_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${SEEDBED_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${SEEDBED_SANITIZE})
  endif()
endfunction()

include(SeedbedTestSources)

# Everything that `make test` needs built under sanitizers.
if(SEEDBED_TESTS AND NOT TARGET seedbed_tests)
  add_custom_target(seedbed_tests)
endif()

# One test program; TEST_LIBRARIES are linked besides the room under test.
function(seedbed_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock
                        GTest::gtest_main)
  seedbed_flags(${name})
  seedbed_test_sources(${name})
  add_dependencies(seedbed_tests ${name})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  if(NOT ARG_LABEL)
    set(ARG_LABEL quick)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT}
                       ENVIRONMENT "SEEDBED_BIN=${CMAKE_BINARY_DIR}/bin")
endfunction()

function(seedbed_room name)
  cmake_parse_arguments(ARG "" "" "ROOMS;LIBRARIES;TEST_ROOMS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc"
       "${CMAKE_CURRENT_SOURCE_DIR}/posix/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_ROOMS PREPEND seedbed_)
  list(TRANSFORM ARG_TEST_ROOMS PREPEND seedbed_)
  if(sources)
    add_library(seedbed_${name} STATIC ${sources})
    target_link_libraries(seedbed_${name} PUBLIC ${ARG_ROOMS} ${ARG_LIBRARIES})
    seedbed_flags(seedbed_${name})
  else()
    add_library(seedbed_${name} INTERFACE)
    target_link_libraries(seedbed_${name} INTERFACE ${ARG_ROOMS} ${ARG_LIBRARIES})
    target_include_directories(seedbed_${name} INTERFACE "${CMAKE_SOURCE_DIR}/src")
  endif()
  if(SEEDBED_TESTS AND tests)
    seedbed_test(${name}_test SOURCES ${tests} LIBRARIES seedbed_${name} ${ARG_TEST_ROOMS})
  endif()
endfunction()
