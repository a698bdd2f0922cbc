# Sources of one folder are compiled together, in units of about SLUICE_UNITY_BYTES: each parses the same 60,000 lines of
# headers otherwise. Names in anonymous namespaces are therefore distinct within a folder.
#
#   SLUICE_UNITY=ON   the default
#   SLUICE_UNITY=OFF  a source by itself: what clang-tidy looks at, and for work on one file again and again
option(SLUICE_UNITY "Compile the sources of a folder together" ON)
set(SLUICE_UNITY_BYTES 60000 CACHE STRING "Bytes of source a unit")
mark_as_advanced(SLUICE_UNITY_BYTES)

# Replaces the sources of `target` by units that include them. CMake's own UNITY_BUILD writes absolute paths, which make
# ccache miss in another checkout; and its batches go across folders.
function(sluice_unite target)
  if(NOT SLUICE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(kept)    # what is compiled by itself: objects, other languages, sources with definitions of their own
  set(folders)
  foreach(source IN LISTS sources)
    get_filename_component(path ${source} ABSOLUTE)
    get_source_file_property(definitions ${path} COMPILE_DEFINITIONS)
    if(NOT path MATCHES "^${PROJECT_SOURCE_DIR}/.*\\.cpp$" OR definitions)
      list(APPEND kept ${source})
      continue()
    endif()
    get_filename_component(folder ${path} DIRECTORY)
    string(MAKE_C_IDENTIFIER "sources in ${folder}" folder) # the name of a list
    if(NOT folder IN_LIST folders)
      list(APPEND folders ${folder})
      set(${folder})
    endif()
    list(APPEND ${folder} ${path})
  endforeach()
  foreach(folder IN LISTS folders)
    sluice_unite_folder(${target} kept "${${folder}}")
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${kept}" SLUICE_UNITED "${sources}")
endfunction()

# Appends to the list `units` what the sources of one folder are compiled as: units of about the same size.
function(sluice_unite_folder target units sources)
  list(SORT sources)
  set(total 0)
  foreach(source IN LISTS sources)
    file(SIZE ${source} bytes)
    math(EXPR total "${total} + ${bytes}")
  endforeach()
  math(EXPR count "(${total} + ${SLUICE_UNITY_BYTES} - 1) / ${SLUICE_UNITY_BYTES}")
  set(unit)   # the sources of the unit that is being filled
  set(sum 0)  # the bytes of all sources so far
  set(made 0)
  foreach(source IN LISTS sources)
    file(SIZE ${source} bytes)
    math(EXPR sum "${sum} + ${bytes}")
    list(APPEND unit ${source})
    math(EXPR share "${sum} * ${count}") # with the next line: whether as many units are full as this one is
    math(EXPR least "(${made} + 1) * ${total}")
    if(NOT share LESS least)
      sluice_unity_unit(${target} ${units} "${unit}")
      math(EXPR made "${made} + 1")
      set(unit)
    endif()
  endforeach()
  set(${units} ${${units}} PARENT_SCOPE)
endfunction()

# Writes the unit of these sources and appends it to the list `units`; a lone source stays as it is.
function(sluice_unity_unit target units sources)
  list(LENGTH sources count)
  list(GET sources 0 first)
  if(count EQUAL 1)
    list(APPEND ${units} ${first})
  else()
    set(content "// Made by scripts/cmake/SluiceUnity.cmake.\n")
    foreach(source IN LISTS sources)
      file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
      string(APPEND content "#include \"${name}\"\n")
    endforeach()
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${first})
    string(REPLACE "/" "_" name ${name})
    string(REPLACE ".cpp" "" name ${name})
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_units/${name}_and_on.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${content}" @ONLY)
    list(APPEND ${units} ${file})
  endif()
  set(${units} ${${units}} PARENT_SCOPE)
endfunction()
