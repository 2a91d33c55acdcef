# The web console: npm ci from the lockfile and one run of the bundler, again only when one of its sources has changed.
# QUELL_CONSOLE_SOURCE is the C++ file that holds what came out.
find_program(NODE NAMES node nodejs)
find_program(NPM npm)
if(NOT NODE OR NOT NPM)
  message(FATAL_ERROR "node and npm are needed to build the web console, and are not here: `make deps` installs the packages nodejs and npm")
endif()
set(console ${CMAKE_SOURCE_DIR}/console)
set(console_build ${CMAKE_BINARY_DIR}/console)
set(QUELL_CONSOLE_SOURCE ${console_build}/console_pack.cpp)
# The build itself writes this one. It exists from the start, so that a second run finds the same files as the first
# and does not configure anew.
set(console_schema ${console}/src/api/schema.d.ts)
if(NOT EXISTS ${console_schema})
  file(TOUCH ${console_schema})
endif()
file(GLOB_RECURSE console_sources CONFIGURE_DEPENDS ${console}/src/*)
list(REMOVE_ITEM console_sources ${console_schema})
add_custom_command(
  OUTPUT ${console_build}/packages.stamp
  DEPENDS ${console}/package.json ${console}/package-lock.json ${console}/.npmrc ${console}/install.sh
  COMMAND ${console}/install.sh ${NPM} ${console} ${console_build}/packages.stamp
  COMMENT "Installing the packages of the web console from its lockfile" VERBATIM)
add_custom_command(
  OUTPUT ${QUELL_CONSOLE_SOURCE}
  DEPENDS ${console_build}/packages.stamp ${console}/build.mjs ${console}/types.mjs ${console}/tsconfig.json
          ${CMAKE_SOURCE_DIR}/gateway/openapi.json ${console_sources}
  COMMAND ${NODE} ${console}/build.mjs ${console_build}
  COMMENT "Bundling the web console" VERBATIM)
# The console's tests on node are bundled here, because nothing compiles inside a test.
file(GLOB console_tests CONFIGURE_DEPENDS ${console}/test/*)
add_custom_command(
  OUTPUT ${console_build}/tests.stamp
  DEPENDS ${console_build}/packages.stamp ${console}/bundle_tests.mjs ${console_sources} ${console_tests}
  COMMAND ${NODE} ${console}/bundle_tests.mjs ${console_build}/tests
  COMMAND ${CMAKE_COMMAND} -E touch ${console_build}/tests.stamp
  COMMENT "Bundling the tests of the web console" VERBATIM)
add_custom_target(console_tests ALL DEPENDS ${console_build}/tests.stamp)
