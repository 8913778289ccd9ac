# Writes the man pages and completions of the command to the folders that they are installed from.
#   cmake -DWICK=wick -DPAGES=DIR -P pages.cmake
cmake_minimum_required(VERSION 3.21)
file(REMOVE_RECURSE ${PAGES})

function(write file)
  execute_process(COMMAND ${WICK} ${ARGN} OUTPUT_VARIABLE text ERROR_VARIABLE why RESULT_VARIABLE rc)
  if(rc)
    message(FATAL_ERROR "${WICK} ${ARGN}: ${rc}\n${why}")
  endif()
  file(WRITE ${PAGES}/${file} "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

write(man1/wick.1 help --man)
# Its list of pages: ".BR wick\-train (1)".
string(REGEX MATCHALL "\\.BR wick[^ ]+ \\(1\\)" pages "${text}")
if(NOT pages)
  message(FATAL_ERROR "wick.1 names no other page")
endif()
foreach(page ${pages})
  string(REGEX REPLACE ".*-([a-z]+) .*" "\\1" command "${page}")
  write(man1/wick-${command}.1 help --man ${command})
endforeach()

write(share/bash-completion/completions/wick completions bash)
write(share/zsh/site-functions/_wick completions zsh)
write(share/fish/vendor_completions.d/wick.fish completions fish)
file(WRITE ${PAGES}/done "")
