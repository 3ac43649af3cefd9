# headspan_room(NAME DEPENDS room... LINK library...)
# One room is one folder, one namespace, one static library headspan_NAME (exported as headspan::NAME),
# and one test program made of the *_test.cc files beside the code.
function(headspan_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;LINK;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")

  if(NOT sources)
    return()
  endif()
  add_library(headspan_${name} STATIC ${sources} ${ROOM_SOURCES})
  add_library(headspan::${name} ALIAS headspan_${name})
  set_target_properties(headspan_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(headspan_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(headspan_${name} PRIVATE $<BUILD_INTERFACE:headspan_build_flags> ${ROOM_LINK})
  foreach(room IN LISTS ROOM_DEPENDS)
    target_link_libraries(headspan_${name} PUBLIC headspan_${room})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HEADSPAN_ROOMS headspan_${name})

  headspan_unity(headspan_${name})

  if(HEADSPAN_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name}_test PRIVATE headspan_${name} headspan_build_flags ${ROOM_LINK} GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE
      HEADSPAN_SHARED_DIR="${PROJECT_SOURCE_DIR}/../shared" HEADSPAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    headspan_unity(${name}_test)
    if(HEADSPAN_SANITIZE)
      # Tests take longer to compile with sanitizers than to run, and it is the library's arithmetic that is looked at.
      target_compile_options(${name}_test PRIVATE -O0 -fno-sanitize=undefined)
    endif()
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}. PROPERTIES TIMEOUT 600)
  endif()
endfunction()

# Only for tests of the code: a function of one file's own can be a better match for a call in another.
# A source that another includes would be a header by GCC's reckoning, and its unnamed namespace then a mistake.
function(headspan_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEADSPAN_UNITY} UNITY_BUILD_BATCH_SIZE 12)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<BOOL:${HEADSPAN_UNITY}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
endfunction()
