# Libraries from Debian by pkg-config or their CMake files; wheels from .deps/ as imported targets of our own.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(doctest REQUIRED)
pkg_check_modules(uring REQUIRED IMPORTED_TARGET liburing)
find_path(SLUICE_TOMLPP_INCLUDE toml++/toml.h REQUIRED)

file(GLOB SLUICE_SITE_PACKAGES ${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3.*/site-packages)

# A wheel's directory: the cache, then the environment, then .deps.
function(sluice_wheel_dir variable package needed_file)
  if(NOT ${variable})
    if(DEFINED ENV{${variable}})
      set(dir $ENV{${variable}})
    else()
      set(dir ${SLUICE_SITE_PACKAGES}/${package})
    endif()
    set(${variable} ${dir} CACHE PATH "Directory of ${package}, with include/" FORCE)
  endif()
  if(NOT EXISTS ${${variable}}/${needed_file})
    message(FATAL_ERROR "${package} is not in '${${variable}}' (no ${needed_file}): run scripts/setup or set ${variable}")
  endif()
endfunction()

sluice_wheel_dir(SLUICE_ARROW_DIR pyarrow include/arrow/api.h)
add_library(sluice_arrow_wheel INTERFACE)
target_include_directories(sluice_arrow_wheel SYSTEM INTERFACE ${SLUICE_ARROW_DIR}/include)
target_link_libraries(sluice_arrow_wheel INTERFACE ${SLUICE_ARROW_DIR}/libarrow.so.2600)
target_link_options(sluice_arrow_wheel INTERFACE -Wl,-rpath,${SLUICE_ARROW_DIR})

if(SLUICE_TORCH)
  # find_package(Torch) demands a CUDA toolkit even for the CPU half, so the two libraries are named here.
  sluice_wheel_dir(SLUICE_TORCH_DIR torch include/torch/csrc/api/include/torch/torch.h)
  add_library(sluice_libtorch INTERFACE)
  target_include_directories(sluice_libtorch SYSTEM INTERFACE ${SLUICE_TORCH_DIR}/include
                                                              ${SLUICE_TORCH_DIR}/include/torch/csrc/api/include)
  target_link_libraries(sluice_libtorch INTERFACE ${SLUICE_TORCH_DIR}/lib/libtorch_cpu.so ${SLUICE_TORCH_DIR}/lib/libc10.so)
  target_link_options(sluice_libtorch INTERFACE -Wl,-rpath,${SLUICE_TORCH_DIR}/lib)
endif()
