# What `cmake --install` puts where, all below the prefix, which may be moved:
#
#   bin/              sluice-prep, and the script that starts sluice-train
#   include/sluice/   the public headers
#   lib/              static libraries; cmake/Sluice/: what find_package(Sluice) reads
#   lib/sluice/       sluice-train itself, Arrow's two libraries, libsluice_cuda.so, and the link `torch` to LibTorch
include(CMakePackageConfigHelpers)

# Without LibTorch; with it. In the order of ARCHITECTURE.md's table.
set(SLUICE_CORE_LIBRARIES sluice_core sluice_storage sluice_samplers sluice_kernels sluice_device sluice_pipeline sluice_queries
                          sluice_forecast sluice_registry_caches sluice_registry_samplers)
set(SLUICE_TRAIN_LIBRARIES sluice_budget sluice_nn sluice_models sluice_probe sluice_tasks sluice_train sluice_registry_train
                           sluice_cli_common sluice_train_tool)

# Sluice::core and Sluice::sluice, in this build and of an installed Sluice alike.
function(sluice_add_api name)
  add_library(sluice_api_${name} INTERFACE)
  target_link_libraries(sluice_api_${name} INTERFACE ${ARGN})
  target_compile_features(sluice_api_${name} INTERFACE cxx_std_20)
  set_target_properties(sluice_api_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(Sluice::${name} ALIAS sluice_api_${name})
endfunction()

function(sluice_install)
  sluice_add_api(core sluice_registry_samplers sluice_registry_caches sluice_forecast sluice_queries sluice_pipeline)
  sluice_install_libraries(core ${SLUICE_CORE_LIBRARIES})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice DESTINATION include COMPONENT library)
  if(SLUICE_TORCH)
    sluice_add_api(sluice sluice_api_core sluice_train_tool sluice_registry_train sluice_models sluice_tasks)
    sluice_install_libraries(sluice ${SLUICE_TRAIN_LIBRARIES})
    sluice_libtorch_version(${SLUICE_TORCH_DIR} torch_version)
  endif()
  set(folder lib/cmake/Sluice)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/scripts/cmake/SluiceConfig.cmake.in
                                ${PROJECT_BINARY_DIR}/SluiceConfig.cmake INSTALL_DESTINATION ${folder})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/SluiceConfig.cmake ${PROJECT_BINARY_DIR}/SluiceConfigVersion.cmake
                ${PROJECT_SOURCE_DIR}/scripts/cmake/SluiceFind.cmake
          DESTINATION ${folder} COMPONENT library)
  sluice_install_tools(${torch_version})
endfunction()

function(sluice_install_libraries name)
  install(TARGETS ${ARGN} sluice_api_${name} EXPORT Sluice_${name} ARCHIVE DESTINATION lib COMPONENT library)
  install(EXPORT Sluice_${name} NAMESPACE Sluice:: FILE SluiceTargets-${name}.cmake DESTINATION lib/cmake/Sluice
          COMPONENT library)
endfunction()

function(sluice_install_tools)
  set_target_properties(sluice-prep PROPERTIES INSTALL_RPATH $ORIGIN/../lib/sluice)
  install(TARGETS sluice-prep RUNTIME DESTINATION bin COMPONENT tools)
  install(FILES ${SLUICE_ARROW_DIR}/libarrow.so.2600 ${SLUICE_ARROW_DIR}/libparquet.so.2600 DESTINATION lib/sluice
          COMPONENT tools)
  if(NOT SLUICE_TORCH)
    return()
  endif()
  set_target_properties(sluice-train PROPERTIES INSTALL_RPATH $ORIGIN/torch/lib)
  install(TARGETS sluice-train RUNTIME DESTINATION lib/sluice COMPONENT tools)
  set(SLUICE_TORCH_VERSION ${ARGV0})
  configure_file(${PROJECT_SOURCE_DIR}/scripts/cmake/sluice-train.in ${PROJECT_BINARY_DIR}/installed/sluice-train @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/sluice-train DESTINATION bin COMPONENT tools)
  # LibTorch stays where it is. A package is for other machines, which have it elsewhere.
  install(CODE "
    if(NOT CMAKE_INSTALL_PREFIX MATCHES \"/_CPack_Packages/\")
      file(CREATE_LINK \"${SLUICE_TORCH_DIR}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/sluice/torch\" SYMBOLIC)
    endif()" COMPONENT tools)
  if(TARGET sluice_cuda)
    install(TARGETS sluice_cuda LIBRARY DESTINATION lib/sluice COMPONENT tools)
  endif()
endfunction()

# Compiles each public header by itself, with nothing else of Sluice in the path.
function(sluice_check_headers)
  if(SLUICE_SANITIZE)
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/*.h)
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER ${header} name)
    set(source ${PROJECT_BINARY_DIR}/headers/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <${header}>\n")
    # As scripts/layers has it.
    if(header MATCHES "sluice/((model|optimizer|task|train)[a-z_]*\\.h$|(nn|models|tasks)/)")
      list(APPEND torch_sources ${source})
    else()
      list(APPEND core_sources ${source})
    endif()
  endforeach()
  add_library(sluice_headers_core OBJECT ${core_sources})
  target_link_libraries(sluice_headers_core PRIVATE sluice_flags)
  add_custom_target(check_headers DEPENDS sluice_headers_core)
  if(SLUICE_TORCH)
    # Over LibTorch's precompiled headers, 15 s a source otherwise: that each includes them, scripts/layers sees.
    add_library(sluice_headers_torch OBJECT ${torch_sources})
    target_link_libraries(sluice_headers_torch PRIVATE sluice_flags sluice_libtorch fmt::fmt spdlog::spdlog)
    sluice_use_torch_pch(sluice_headers_torch)
    add_dependencies(check_headers sluice_headers_torch)
  endif()
  foreach(target sluice_headers_core sluice_headers_torch)
    if(TARGET ${target})
      target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    endif()
  endforeach()
endfunction()
