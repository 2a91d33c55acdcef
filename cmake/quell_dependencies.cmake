# Every third-party library as one imported target, all from Debian 12 packages (see `make deps`).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLiteCpp REQUIRED)
find_package(benchmark REQUIRED)
find_package(CURL REQUIRED)
find_package(EXPAT REQUIRED)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq)
# CMake reads libzmq's `-isystem DIRECTORY` as an include directory when it configures for the first time, and as an
# option afterwards: every object would be compiled again. Always an include directory.
set(zmq_includes ${ZMQ_INCLUDE_DIRS} ${ZMQ_CFLAGS_OTHER})
list(REMOVE_ITEM zmq_includes -isystem)
list(REMOVE_DUPLICATES zmq_includes)
set_target_properties(PkgConfig::ZMQ PROPERTIES INTERFACE_COMPILE_OPTIONS "" INTERFACE_INCLUDE_DIRECTORIES "${zmq_includes}")
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
# Its headers; `quell talk` loads the library when it is used.
find_path(PULSE_HEADERS pulse/pulseaudio.h REQUIRED)
pkg_check_modules(EDIT REQUIRED IMPORTED_TARGET libedit)
include(quell_few_libraries) # quell_crypto, quell_tls, quell_edit; quell_few_libraries()
find_package(valijson REQUIRED)

add_library(quell_caf INTERFACE)  # libcaf-dev ships no CMake package
find_library(CAF_CORE caf_core REQUIRED)
target_link_libraries(quell_caf INTERFACE ${CAF_CORE} Threads::Threads)

# The allocator of quelld, whose threads hand each other what they allocate. Without it the program uses the C library's.
if(NOT QUELL_ASAN AND NOT QUELL_TSAN)
  find_library(QUELL_TCMALLOC tcmalloc_minimal)
  if(NOT QUELL_TCMALLOC)
    message(STATUS "no tcmalloc: quelld allocates with the C library (libgoogle-perftools-dev)")
  endif()
endif()

add_library(quell_asio INTERFACE)
target_link_libraries(quell_asio INTERFACE Threads::Threads quell_tls)
