option(SLUICE_PCH "Precompile the standard library's and LibTorch's headers (g++)" ON)

# Tests count and compare, tools parse and print: nothing in them is measured. In sanitized builds, which are made with -Og
# (CMakePresets.json), g++ 12 takes twice as long with -O1 over what the address and undefined sanitizers add.
if(SLUICE_SANITIZE)
  set(SLUICE_COLD_OPTIMISATION -O0)
else()
  set(SLUICE_COLD_OPTIMISATION -O1)
endif()

# A room is one folder, one static library, one include prefix; its sources are all *.cpp below it, so that a new model
# or importer is one file pair and one registry line. Links are PRIVATE unless the room's headers need them. COLD: nothing
# in it runs for long, so that optimising it would take longer than it ever saves.
function(sluice_room name)
  cmake_parse_arguments(ARG "COLD" "" "EXCLUDE;PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(pattern ${ARG_EXCLUDE})
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  add_library(${name} STATIC ${sources})
  sluice_include_rooms(${name})
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC})
  sluice_link_headers(${name} sluice_flags)
  foreach(library IN LISTS ARG_PRIVATE)
    if(library MATCHES "^nlohmann_json")
      sluice_link_headers(${name} ${library})
    else()
      target_link_libraries(${name} PRIVATE ${library})
    endif()
  endforeach()
  sluice_unite(${name})
  if("${ARG_PUBLIC}" MATCHES "sluice_(libtorch|nn|models|tasks)")
    sluice_use_torch_pch(${name})
  elseif(ARG_COLD)
    target_compile_options(${name} PRIVATE ${SLUICE_COLD_OPTIMISATION})
    sluice_use_std_pch(${name} cold)
  else()
    sluice_use_std_pch(${name} std)
  endif()
endfunction()

# The public headers and all rooms; of an installed library the public headers alone.
function(sluice_include_rooms target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include>)
endfunction()

# Headers and flags that a static library is compiled with, and that whoever links an installed one need not have.
function(sluice_link_headers target)
  foreach(library IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${library}>)
  endforeach()
endfunction()

# A doctest program of one room's tests: sluice_test(name LABELS core SOURCES a.cpp LIBS sluice_core). Programs are few, as
# each is linked; ctest runs the tests of each source by themselves, as name.source. TORCH: over LibTorch's
# headers. APART: its sources all have the same names. MAIN_FILE: a main() of its own, and with it doctest.
function(sluice_test name)
  cmake_parse_arguments(ARG "APART;SERIAL;TORCH" "TIMEOUT;MAIN_FILE" "SOURCES;LIBS;LABELS" ${ARGN})
  if(NOT TARGET sluice_test_main) # doctest itself: compiled once, for all
    add_library(sluice_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
    target_link_libraries(sluice_test_main PRIVATE sluice_flags doctest::doctest)
    target_compile_options(sluice_test_main PRIVATE ${SLUICE_COLD_OPTIMISATION})
  endif()
  if(ARG_MAIN_FILE)
    add_executable(${name} ${ARG_SOURCES} ${ARG_MAIN_FILE})
  else()
    add_executable(${name} ${ARG_SOURCES} $<TARGET_OBJECTS:sluice_test_main>)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE sluice_flags doctest::doctest ${ARG_LIBS})
  if(NOT ARG_APART)
    sluice_unite(${name})
  endif()
  target_compile_options(${name} PRIVATE ${SLUICE_COLD_OPTIMISATION})
  if(ARG_TORCH)
    sluice_use_torch_pch(${name})
  elseif(NOT ARG_MAIN_FILE) # doctest is implemented there
    sluice_use_std_pch(${name} test)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  # GOMP_SPINCOUNT: LibTorch's idle threads spin otherwise, and slow what shares the machine several times over.
  set(environment SLUICE_BIN=${PROJECT_BINARY_DIR} SLUICE_SOURCE=${PROJECT_SOURCE_DIR} GOMP_SPINCOUNT=0)
  foreach(source IN LISTS ARG_SOURCES ARG_MAIN_FILE)
    get_filename_component(path ${source} ABSOLUTE)
    file(STRINGS ${path} cases REGEX "^ *TEST_CASE" LIMIT_COUNT 1)
    if(NOT cases)
      continue()
    endif()
    get_filename_component(stem ${source} NAME_WE)
    set(test ${name}.${stem})
    if(test STREQUAL "${stem}.${stem}")
      set(test ${stem})
    endif()
    add_test(NAME ${test} COMMAND ${name} "--source-file=*/${stem}.cpp")
    set_tests_properties(${test} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
                                            ENVIRONMENT "${environment}")
    if(ARG_SERIAL)
      set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
    endif()
  endforeach()
endfunction()

# A test program once more as on a processor with AVX2 alone, and as on one with less: our kernels', LibTorch's, MKL's and
# oneDNN's own switches say so. Not under a sanitizer. sluice_test_on_older_cpus(nn_test LABELS torch); SOURCE: the tests of
# that source alone.
function(sluice_test_on_older_cpus name)
  cmake_parse_arguments(ARG "" "SOURCE" "LABELS" ${ARGN})
  if(SLUICE_SANITIZE)
    return()
  endif()
  set(avx2 SLUICE_MAX_CPU_ISA=avx2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2)
  set(baseline SLUICE_MAX_CPU_ISA=baseline ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2
               ONEDNN_MAX_CPU_ISA=SSE41)
  set(environment SLUICE_BIN=${PROJECT_BINARY_DIR} SLUICE_SOURCE=${PROJECT_SOURCE_DIR} GOMP_SPINCOUNT=0)
  set(only)
  if(ARG_SOURCE)
    set(only "--source-file=*/${ARG_SOURCE}.cpp")
  endif()
  foreach(isa avx2 baseline)
    add_test(NAME ${name}.as_on_${isa} COMMAND ${name} ${only})
    set_tests_properties(${name}.as_on_${isa} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600 SKIP_RETURN_CODE 77
                                                         ENVIRONMENT "${environment};${${isa}}")
  endforeach()
endfunction()

# A benchmark: prints one JSON object a line, build/<preset>/bench/<name> [--filter CASE]
function(sluice_bench name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBS" ${ARGN})
  add_executable(bench_${name} ${ARG_SOURCES})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE sluice_flags ${ARG_LIBS})
  sluice_unite(bench_${name})
  if(ARG_TORCH)
    sluice_use_torch_pch(bench_${name})
  else()
    sluice_use_std_pch(bench_${name} std)
  endif()
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endfunction()

# What the examples are compiled with in Sluice's own build: build/<preset>/examples/<name>.
function(sluice_build_examples)
  foreach(example IN LISTS ARGN)
    target_link_libraries(${example} PRIVATE sluice_flags)
    target_compile_options(${example} PRIVATE ${SLUICE_COLD_OPTIMISATION})
    set_target_properties(${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${Sluice_BINARY_DIR}/examples)
    get_target_property(libraries ${example} LINK_LIBRARIES)
    if("Sluice::sluice" IN_LIST libraries)
      sluice_use_torch_pch(${example})
    endif()
  endforeach()
endfunction()

# Compiles a target over the standard library's headers and fmt's, parsed once. `kind` says with what they are parsed: as
# the build says ("std"), as cold code ("cold") or as tests ("test", with doctest).
function(sluice_use_std_pch target kind)
  if(NOT SLUICE_PCH OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(pch sluice_${kind}_pch)
  if(NOT TARGET ${pch})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${pch}.cpp CONTENT "// Holds a precompiled header.\n")
    add_library(${pch} STATIC ${PROJECT_BINARY_DIR}/${pch}.cpp)
    target_link_libraries(${pch} PRIVATE sluice_flags fmt::fmt spdlog::spdlog doctest::doctest)
    set(headers <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstring> <deque>
      <filesystem> <fstream> <functional> <future> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream>
      <string> <thread> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
    if(kind STREQUAL "test")
      list(APPEND headers <doctest/doctest.h>)
    endif()
    if(NOT kind STREQUAL "std")
      target_compile_options(${pch} PRIVATE ${SLUICE_COLD_OPTIMISATION})
    endif()
    target_precompile_headers(${pch} PRIVATE ${headers})
  endif()
  sluice_compile_as_library(${target})
  target_precompile_headers(${target} REUSE_FROM ${pch})
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
  if(NOT SLUICE_PCH)
    return()
  endif()
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
    list(REMOVE_ITEM options ${SLUICE_COLD_OPTIMISATION})
    set_target_properties(${target} PROPERTIES COMPILE_OPTIONS "${options}")
  endif()
  target_precompile_headers(${target} REUSE_FROM sluice_torch_pch)
endfunction()
