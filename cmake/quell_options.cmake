# Compiler switches shared by every target.
option(QUELL_ASAN "address and undefined-behaviour sanitizers" OFF)
option(QUELL_TSAN "thread sanitizer" OFF)

find_program(CCACHE ccache)
if(CCACHE)
  # Paths below the checkout are hashed as relative ones, so that another clone of the same sources hits the cache too.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

option(QUELL_QUICK "compile fast instead of running fast: for trying out a change, never for figures" OFF)
# What an attacker finds harder to use: checked copies, and programs whose addresses and tables are not where they were.
# g++ on Debian makes position independent programs by itself; tests/system/test_hardening.py looks at what came out.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3")
add_link_options(-Wl,-z,relro,-z,now)
if(QUELL_QUICK)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1")
endif()
add_compile_options(-Wall -Wextra -Werror -fno-plt)
# g++ collects its garbage after each few megabytes, which takes 15 to 18 % of a batch's time; with room for 1 GiB it hardly has to.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=200> $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
# g++ 12 reports these inside std:: and Boost headers where the code is right.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# Batches (quell_batches) make a type of an unnamed namespace look like one of a header to it.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
# The same of what it guesses while it optimises with checked copies (FORTIFY): false ones are known, so they are shown only.
foreach(guess array-bounds stringop-overflow stringop-overread stringop-truncation format-truncation format-overflow
        free-nonheap-object dangling-pointer use-after-free nonnull)
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-error=${guess}>)
endforeach()
# State this once for all targets: mixed values would break the one definition rule.
add_compile_definitions(BOOST_ASIO_NO_DEPRECATED CAF_ENABLE_TYPE_ID_CHECKS)

# How much longer than usual a test may take: see QUELL_TEST_PATIENCE in the Makefile.
set(QUELL_TIMEOUT_FACTOR 1)
if(QUELL_ASAN OR QUELL_TSAN)
  set(QUELL_TIMEOUT_FACTOR 5)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -fno-omit-frame-pointer")
endif()
if(QUELL_ASAN)
  # null and alignment triple the time to compile: a null pointer is caught by the address sanitizer just as well, and the
  # fuzzers (tests/fuzz) look at alignment.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
if(QUELL_TSAN)
  # -Wno-tsan: Asio's fences are not modelled by the sanitizer, which g++ says as a warning.
  add_compile_options(-fsanitize=thread -Wno-tsan)
  add_link_options(-fsanitize=thread)
endif()
