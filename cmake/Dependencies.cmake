# Every dependency is an installed package; configuring never downloads.
find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(TBB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost 1.74 REQUIRED CONFIG)
find_library(HEADSPAN_LAPACKE lapacke REQUIRED)
find_library(HEADSPAN_OPENBLAS openblas REQUIRED)
find_library(HEADSPAN_HWY hwy REQUIRED)
find_library(HEADSPAN_NLOPT nlopt REQUIRED)
if(HEADSPAN_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# What every target of the project is compiled with; never exported.
add_library(headspan_build_flags INTERFACE)
target_compile_options(headspan_build_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off)
if(HEADSPAN_SANITIZE)
  target_compile_options(headspan_build_flags INTERFACE
    -fsanitize=${HEADSPAN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(headspan_build_flags INTERFACE -fsanitize=${HEADSPAN_SANITIZE})
  if(HEADSPAN_SANITIZE MATCHES address)
    # The address sanitizer reports what goes wrong at such pointers itself, and the checks more than double the time to
    # compile. `alignment` stays where bytes of files are read as numbers.
    target_compile_options(headspan_build_flags INTERFACE
      -fno-sanitize=null,object-size,pointer-overflow
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:HEADSPAN_READS_BYTES>>>:-fno-sanitize=alignment>)
  endif()
  # The instruction sets share one source, and each takes minutes to compile with sanitizers: the baseline and one more.
  target_compile_definitions(headspan_build_flags INTERFACE
    "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3|HWY_AVX3_DL|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
endif()
if(HEADSPAN_TIDY)
  find_program(HEADSPAN_CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${HEADSPAN_CLANG_TIDY} --quiet --warnings-as-errors=*)
endif()
