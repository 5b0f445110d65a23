# commit.cmake - write OUT, a C file that holds the commit of SOURCE and whether
# files under it differ from that commit. Run at every build; OUT is touched
# only when its text changes.
set(commit unknown)
set(dirty false)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-toplevel
    OUTPUT_VARIABLE top ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse HEAD
    OUTPUT_VARIABLE head RESULT_VARIABLE status ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  get_filename_component(source_path "${SOURCE}" REALPATH)
  get_filename_component(top_path "${top}" REALPATH)
  # An unpacked archive may lie inside some other repository.
  if(status EQUAL 0 AND source_path STREQUAL top_path)
    set(commit ${head})
    execute_process(
      COMMAND ${git} --no-optional-locks -C ${SOURCE} diff --quiet HEAD -- src
      RESULT_VARIABLE status ERROR_QUIET)
    if(NOT status EQUAL 0)
      set(dirty true)
    endif()
  endif()
endif()
set(text "/* Made by src/train/commit.cmake at every build. */
#include \"train/code.h\"

const char qn_code_commit[] = \"${commit}\";
const bool qn_code_dirty = ${dirty};
")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT text STREQUAL "${old}")
  file(WRITE ${OUT} "${text}")
endif()
