# Finds what the rooms build against: Boost headers, Boost.Context and hwloc headers (system, or the cmeel wheels of the active
# Python), and GoogleTest (system, or a source folder named by COREWISE_GTEST_SOURCE).
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c
          "import sys, pathlib; print(';'.join(str(p) for p in (pathlib.Path(s) / 'cmeel.prefix' for s in sys.path) if p.is_dir()))"
  OUTPUT_VARIABLE COREWISE_CMEEL_PREFIXES OUTPUT_STRIP_TRAILING_WHITESPACE)

find_path(COREWISE_BOOST_INCLUDE NAMES boost/json/src.hpp HINTS ${COREWISE_CMEEL_PREFIXES} PATH_SUFFIXES include REQUIRED)
# Boost.Context is the one compiled part of Boost in use; the library of the same Boost as the headers comes first.
find_library(COREWISE_BOOST_CONTEXT NAMES boost_context HINTS "${COREWISE_BOOST_INCLUDE}/../lib" ${COREWISE_CMEEL_PREFIXES}
             PATH_SUFFIXES lib REQUIRED)
find_path(COREWISE_HWLOC_INCLUDE NAMES hwloc.h HINTS ${COREWISE_CMEEL_PREFIXES} PATH_SUFFIXES include REQUIRED)
add_library(corewise_boost INTERFACE)
target_include_directories(corewise_boost SYSTEM INTERFACE "${COREWISE_BOOST_INCLUDE}")
add_library(corewise_boost_context INTERFACE)
target_link_libraries(corewise_boost_context INTERFACE corewise_boost "${COREWISE_BOOST_CONTEXT}")
add_library(corewise_hwloc INTERFACE)
target_include_directories(corewise_hwloc SYSTEM INTERFACE "${COREWISE_HWLOC_INCLUDE}")
target_link_libraries(corewise_hwloc INTERFACE ${CMAKE_DL_LIBS})

if(COREWISE_TESTS)
  if(COREWISE_GTEST_SOURCE)
    add_library(corewise_gtest_main STATIC "${COREWISE_GTEST_SOURCE}/src/gtest-all.cc"
                                           "${COREWISE_GTEST_SOURCE}/src/gtest_main.cc")
    target_include_directories(corewise_gtest_main SYSTEM PUBLIC "${COREWISE_GTEST_SOURCE}/include"
                               PRIVATE "${COREWISE_GTEST_SOURCE}")
    target_compile_options(corewise_gtest_main PRIVATE -w)
    find_package(Threads REQUIRED)
    target_link_libraries(corewise_gtest_main PUBLIC Threads::Threads)
    add_library(GTest::gtest_main ALIAS corewise_gtest_main)
  else()
    find_package(GTest REQUIRED)
  endif()
endif()
