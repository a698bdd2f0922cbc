# What Sluice's own build and programs that find an installed Sluice both look for; SluiceInstall.cmake installs this file
# beside SluiceConfig.cmake.

# LibTorch as the target sluice_libtorch. find_package(Torch) demands a CUDA toolkit even for the CPU half, so the two
# libraries are named here. `links` is a folder for links to LibTorch's own headers alone: the wheel also carries a newer fmt,
# which would shadow the one that Sluice is linked with.
function(sluice_add_libtorch dir links)
  if(TARGET sluice_libtorch)
    return()
  endif()
  file(MAKE_DIRECTORY ${links})
  foreach(folder ATen c10 caffe2 torch)
    file(CREATE_LINK ${dir}/include/${folder} ${links}/${folder} SYMBOLIC)
  endforeach()
  add_library(sluice_libtorch INTERFACE IMPORTED GLOBAL)
  target_include_directories(sluice_libtorch SYSTEM INTERFACE ${links} ${links}/torch/csrc/api/include)
  target_link_libraries(sluice_libtorch INTERFACE ${dir}/lib/libtorch_cpu.so ${dir}/lib/libc10.so)
endfunction()

# "2.11" of the LibTorch in `dir`; empty where there is none.
function(sluice_libtorch_version dir variable)
  set(${variable} "" PARENT_SCOPE)
  set(header ${dir}/include/torch/headeronly/version.h)
  if(NOT EXISTS ${header})
    set(header ${dir}/include/torch/csrc/api/include/torch/version.h)
  endif()
  if(NOT EXISTS ${header} OR NOT EXISTS ${dir}/lib/libtorch_cpu.so)
    return()
  endif()
  file(STRINGS ${header} major REGEX "define TORCH_VERSION_MAJOR")
  file(STRINGS ${header} minor REGEX "define TORCH_VERSION_MINOR")
  string(REGEX MATCH "[0-9]+" major "${major}")
  string(REGEX MATCH "[0-9]+" minor "${minor}")
  set(${variable} ${major}.${minor} PARENT_SCOPE)
endfunction()
