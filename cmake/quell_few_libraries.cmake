# quell_few_libraries(TARGET): the program starts fast, because the loader has little to find, map and bind: what Debian ships
# as an archive is linked into it, and of the rest only what it uses. Updates of those libraries reach it with the next build.
option(QUELL_FEW_LIBRARIES "link libraries into the programs whose start people wait for" ON)
if(QUELL_ASAN OR QUELL_TSAN)
  set(QUELL_FEW_LIBRARIES OFF) # a sanitizer replaces functions of shared libraries
endif()

# quell_either(NAME SHARED_TARGET ARCHIVES...): a target that is the archives for programs with few libraries, if all of them
# are there, and the shared library for all others.
function(quell_either name shared)
  set(archives)
  foreach(archive ${ARGN})
    find_library(QUELL_ARCHIVE_${archive} lib${archive}.a)
    if(NOT QUELL_ARCHIVE_${archive})
      message(STATUS "no lib${archive}.a: ${shared} stays a shared library everywhere")
      set(QUELL_FEW_LIBRARIES OFF)
      break()
    endif()
    list(APPEND archives ${QUELL_ARCHIVE_${archive}})
  endforeach()
  add_library(${name} INTERFACE)
  if(QUELL_FEW_LIBRARIES)
    set(few $<BOOL:$<TARGET_PROPERTY:QUELL_HAS_FEW_LIBRARIES>>) # of the program that is linked
    target_link_libraries(${name} INTERFACE "$<${few}:${archives}>" $<$<NOT:${few}>:${shared}>)
  else()
    target_link_libraries(${name} INTERFACE ${shared})
  endif()
endfunction()

quell_either(quell_crypto OpenSSL::Crypto crypto)
quell_either(quell_tls OpenSSL::SSL ssl crypto)
quell_either(quell_edit PkgConfig::EDIT edit tinfo bsd md)

function(quell_few_libraries target)
  target_link_options(${target} PRIVATE -Wl,--as-needed)
  if(QUELL_FEW_LIBRARIES)
    set_target_properties(${target} PROPERTIES QUELL_HAS_FEW_LIBRARIES ON)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
