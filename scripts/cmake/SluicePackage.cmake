# The Debian package `sluice`, which scripts/package makes: what SluiceInstall.cmake installs, below /usr. Included last.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VENDOR Sluice)
set(CPACK_PACKAGE_CONTACT "Sluice's authors <sluice@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "graph learning on graphs larger than memory")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_COMPONENTS_ALL tools library)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "sluice-prep imports graphs, sluice-train trains graph neural networks on them.
 Features and edges may stay on disk, within a memory budget. With the C++ library, its headers and
 what find_package(Sluice) reads. Carries Arrow's libraries; LibTorch, which sluice-train and
 Sluice::sluice need, it does not: they find it by SLUICE_TORCH_DIR or in Python's package torch.")
# What the programs are linked with says their packages. Arrow is carried; LibTorch belongs to no package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${SLUICE_ARROW_DIR})
if(SLUICE_TORCH)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${SLUICE_TORCH_DIR}/lib)
endif()
# To compile against the library; find_package(Sluice) names those that are missing.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "cmake, libtbb-dev, libfmt-dev, libspdlog-dev, liburing-dev, libzstd-dev, libxxhash-dev, python3")
include(CPack)
