# A room is one folder, one static library, one include prefix; its sources are all *.cpp below it, so that a new model
# or importer is one file pair and one registry line. Links are PRIVATE unless the room's headers need them.
function(sluice_room name)
  cmake_parse_arguments(ARG "" "" "EXCLUDE;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PRIVATE sluice_flags ${ARG_PRIVATE})
  # The rooms with LibTorch have a precompiled header of their own, the lowest room is what both are made with.
  if(SLUICE_SANITIZE AND NOT name STREQUAL "sluice_core" AND NOT "${ARG_PUBLIC}" MATCHES "sluice_(libtorch|nn|models|tasks)")
    sluice_use_std_pch(${name})
  endif()
endfunction()

# Sanitized builds are made with -Og (CMakePresets.json), and this: with -O1, g++ 12 takes twice as long over what the
# address and undefined sanitizers add.
if(SLUICE_SANITIZE)
  set(SLUICE_TEST_OPTIMISATION -O0)
else()
  set(SLUICE_TEST_OPTIMISATION -O1)
endif()

# A doctest program of one room's tests: sluice_test(name LABELS core SOURCES a.cpp LIBS sluice_core)
function(sluice_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT;MAIN" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT ARG_MAIN)
    set(ARG_MAIN $<TARGET_OBJECTS:sluice_test_main>)
  endif()
  if(NOT TARGET sluice_test_main) # doctest itself: compiled once, for all
    add_library(sluice_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
    target_link_libraries(sluice_test_main PRIVATE sluice_flags doctest::doctest)
    target_compile_options(sluice_test_main PRIVATE ${SLUICE_TEST_OPTIMISATION})
  endif()
  add_executable(${name} ${ARG_SOURCES} ${ARG_MAIN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE sluice_flags doctest::doctest ${ARG_LIBS})
  # Tests count and compare; nothing in them is measured. Optimising their macros takes as long as parsing them.
  target_compile_options(${name} PRIVATE ${SLUICE_TEST_OPTIMISATION})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  # GOMP_SPINCOUNT: LibTorch's idle threads spin otherwise, and slow what shares the machine several times over.
  set(environment SLUICE_BIN=${PROJECT_BINARY_DIR} SLUICE_SOURCE=${PROJECT_SOURCE_DIR} GOMP_SPINCOUNT=0)
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
                                          ENVIRONMENT "${environment}")
  if(ARG_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# A benchmark: prints one JSON object a line, build/<preset>/bench/<name> [--filter CASE]
function(sluice_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE sluice_flags ${ARG_LIBS})
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endfunction()

# In sanitized builds, where nearly all rooms are compiled once more: the standard library's headers precompiled, which
# are a fifth of the time. Other builds go without, and so find what a source forgets to include.
function(sluice_use_std_pch target)
  get_target_property(precompiled ${target} PRECOMPILE_HEADERS_REUSE_FROM)
  if(precompiled OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  if(NOT TARGET sluice_std_pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/std_pch.cpp
                   CONTENT "// Holds the precompiled header that sanitized builds share.\n")
    add_library(sluice_std_pch STATIC ${PROJECT_BINARY_DIR}/std_pch.cpp)
    target_link_libraries(sluice_std_pch PUBLIC sluice_core PRIVATE sluice_flags)
    target_precompile_headers(sluice_std_pch PRIVATE
      <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque> <filesystem>
      <fstream> <functional> <future> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string>
      <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
  endif()
  sluice_compile_as_library(${target})
  target_precompile_headers(${target} REUSE_FROM sluice_std_pch)
endfunction()

# The compiler takes a precompiled header only with the flags it was made with: executables are compiled as -fPIC too.
function(sluice_compile_as_library target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# Compiles a target over one precompiled <torch/torch.h>, shared by all: parsing it takes 15 s a source otherwise.
function(sluice_use_torch_pch target)
  if(NOT TARGET sluice_torch_pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch_pch.cpp
                   CONTENT "// Holds the precompiled header that the LibTorch rooms share.\n")
    add_library(sluice_torch_pch STATIC ${PROJECT_BINARY_DIR}/torch_pch.cpp)
    target_link_libraries(sluice_torch_pch PUBLIC sluice_core sluice_libtorch PRIVATE sluice_flags)
    target_precompile_headers(sluice_torch_pch PRIVATE <torch/torch.h>)
  endif()
  sluice_compile_as_library(${target})
  get_target_property(options ${target} COMPILE_OPTIONS) # it is made optimised as the build says
  if(options)
    list(REMOVE_ITEM options ${SLUICE_TEST_OPTIMISATION})
    set_target_properties(${target} PROPERTIES COMPILE_OPTIONS "${options}")
  endif()
  target_precompile_headers(${target} REUSE_FROM sluice_torch_pch)
endfunction()
