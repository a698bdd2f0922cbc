# How all of Sluice is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SLUICE_CCACHE_PROGRAM ccache)
  if(SLUICE_CCACHE_PROGRAM)
    # pch_defines,time_macros: ccache's own advice for precompiled headers. BASEDIR, NOHASHDIR: another
    # checkout of the same files is compiled already; COMPILERCHECK: so it is for the same compiler of another date.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
        CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content ${SLUICE_CCACHE_PROGRAM})
  endif()
endif()

add_library(sluice_flags INTERFACE)
# -ffp-contract=off: results must not depend on where the compiler fuses a multiply and an add.
target_compile_options(sluice_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
                                              $<$<BOOL:${SLUICE_WERROR}>:-Werror> -ffp-contract=off -fno-omit-frame-pointer
                                              # g++ 12 sees overlaps and overflows in the library's strings that are
                                              # not there (GCC bugs 105651, 105329), the more the more it inlines
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>
                                              # a source that is included in a unit is no header
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>
                                              # libstdc++ 12's own stable_sort uses what it deprecates; clang says so
                                              $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
                                              # what include/sluice/mutex.h marks as guarded is touched under its mutex
                                              $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()
