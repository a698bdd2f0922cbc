# Included by tests/CMakeLists.txt: the project in this folder is built against what this build installs.
add_test(NAME consumer COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/consumer_test.py)
set_tests_properties(consumer PROPERTIES LABELS train TIMEOUT 600
                     ENVIRONMENT "SLUICE_CMAKE=${CMAKE_COMMAND};SLUICE_BIN=${PROJECT_BINARY_DIR};GOMP_SPINCOUNT=0")
