# Whether the device library is built, and with which CUDA compiler.
#
#   SLUICE_CUDA=AUTO  where this machine has an NVIDIA GPU and nvcc: elsewhere nobody waits for it
#   SLUICE_CUDA=ON    it is asked for: the `cuda` preset, to compile it on a machine without a GPU
#   SLUICE_CUDA=OFF   never
set(SLUICE_CUDA AUTO CACHE STRING "Build libsluice_cuda.so: AUTO, ON or OFF")
set_property(CACHE SLUICE_CUDA PROPERTY STRINGS AUTO ON OFF)

function(sluice_find_nvcc variable)
  # The environment's, the machine's, PATH's, then the wheels of scripts/setup --cuda.
  find_program(SLUICE_NVCC nvcc HINTS $ENV{CUDACXX} $ENV{CUDA_HOME}/bin /usr/local/cuda/bin
               PATHS ${SLUICE_SITE_PACKAGES}/nvidia/cu13/bin)
  if(DEFINED ENV{CUDACXX})
    set(${variable} $ENV{CUDACXX} PARENT_SCOPE)
  else()
    set(${variable} ${SLUICE_NVCC} PARENT_SCOPE)
  endif()
endfunction()

set(SLUICE_BUILD_CUDA OFF)
if(SLUICE_TORCH AND NOT SLUICE_CUDA STREQUAL "OFF")
  sluice_find_nvcc(nvcc)
  if(SLUICE_CUDA STREQUAL "AUTO")
    if(nvcc AND EXISTS /dev/nvidiactl AND NOT SLUICE_SANITIZE)
      set(SLUICE_BUILD_CUDA ON)
    endif()
  elseif(nvcc)
    set(SLUICE_BUILD_CUDA ON)
  else()
    message(FATAL_ERROR "SLUICE_CUDA=ON and no nvcc: install the CUDA Toolkit 13.0, or run scripts/setup --cuda")
  endif()
endif()

if(SLUICE_BUILD_CUDA)
  set(CMAKE_CUDA_COMPILER ${nvcc} CACHE FILEPATH "nvcc")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Ampere, Hopper, Blackwell, and code for what comes after them.
    set(CMAKE_CUDA_ARCHITECTURES 80-real;90-real;100 CACHE STRING "GPUs that the kernels are built for")
  endif()
  enable_language(CUDA)
  find_package(CUDAToolkit 13.0 REQUIRED)
  message(STATUS "libsluice_cuda.so: ${nvcc}, sm ${CMAKE_CUDA_ARCHITECTURES}")
endif()

# Refuses a source below kernels/cuda or device/cuda in any target but the device library: it would compile only where CUDA's headers
# happen to lie in the compiler's own path. Called when all targets are there.
function(sluice_check_cuda_sources folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "/(device|kernels)/cuda/[^/]*\\.(cpp|cu)$")
    # In a unit of several sources (SluiceUnity.cmake) they are no sources of the target any more.
    get_target_property(united ${target} SLUICE_UNITED)
    if(united)
      list(FILTER united INCLUDE REGEX "/(device|kernels)/cuda/[^/]*\\.(cpp|cu)$")
      list(APPEND sources ${united})
    endif()
    if(sources AND NOT target STREQUAL "sluice_cuda")
      list(JOIN sources ", " names)
      message(FATAL_ERROR "${target} compiles what belongs to sluice_cuda alone: ${names}. Without a CUDA toolkit in the "
                          "compiler's path this does not build: leave it out (sluice_room(... EXCLUDE \"/cuda/\")).")
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    sluice_check_cuda_sources(${below})
  endforeach()
endfunction()
