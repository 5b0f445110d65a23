# embed.cmake - write OUT, a C file with the bytes of the Lua file IN.
file(READ ${IN} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes
  "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
file(WRITE ${OUT} "/* Made by src/script/embed.cmake. */
#include \"script/lua_paper.h\"

const size_t qn_lua_paper_size = ${size};
const unsigned char qn_lua_paper_text[] = {
${bytes}};
")
