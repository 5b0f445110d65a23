/* lua_io.c - what Lua prints goes to the host, and the keyboard stays its own.
 *
 * The screen owns the terminal: print, io.write and io.stdout:write go through
 * the host, and reading standard input is refused where a prompt reads it.
 */
#include "script/lua_util.h"
#include "script/state.h"

#include <stdio.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void qn_io_emit(struct qn_script *s, const char *text, size_t len,
                bool is_error)
{
    struct qn_str clean = {0};
    for (size_t i = 0; i < len;) {
        uint32_t code;
        int n = qn_utf8_decode(text + i, len - i, &code);
        if (n == 0 || code == 0) {
            qn_str_add(&clean, REPLACEMENT);
            i++;
        } else {
            qn_str_add_bytes(&clean, text + i, (size_t)n);
            i += (size_t)n;
        }
    }
    if (clean.len > 0) {
        s->host.print(s->host.user, clean.text, is_error);
    }
    qn_str_free(&clean);
}

static int l_print(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1) {
            luaL_addchar(&b, '\t');
        }
        (void)luaL_tolstring(L, i, NULL);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, '\n');
    luaL_pushresult(&b);
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    qn_io_emit(qn_script_of(L), text, len, false);
    return 0;
}

/* --- files -------------------------------------------------------------- */

/* The C stream of the open file at index, or NULL. */
static FILE *stream_at(lua_State *L, int index)
{
    luaL_Stream *p = luaL_testudata(L, index, LUA_FILEHANDLE);
    return p == NULL || p->closef == NULL ? NULL : p->f;
}

/* Call upvalue 1, Lua's own function, with all arguments. */
static int call_original(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* file:write; returns the file. */
static int l_file_write(lua_State *L)
{
    FILE *f = stream_at(L, 1);
    if (f != stdout && f != stderr) {
        return call_original(L);
    }
    struct qn_script *s = qn_script_of(L);
    int n = lua_gettop(L);
    for (int i = 2; i <= n; i++) {
        size_t len;
        const char *text = luaL_checklstring(L, i, &len);
        qn_io_emit(s, text, len, f == stderr);
    }
    lua_settop(L, 1);
    return 1;
}

/* io.write: upvalue 1 is io.output, upvalue 2 the method above. */
static int l_io_write(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_call(L, 0, 1);
    lua_rotate(L, 1, 2);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* Reading the keyboard would take it from the prompt. */
static void refuse_keyboard(lua_State *L)
{
    struct qn_script *s = qn_script_of(L);
    if (s->at_prompt || s->host.has_screen) {
        qn_lua_raise(L, "state",
                     "standard input belongs to the prompt: read a file with "
                     "io.open, or run the script without a screen");
    }
}

/* file:read and file:lines. */
static int l_file_read(lua_State *L)
{
    if (stream_at(L, 1) == stdin) {
        refuse_keyboard(L);
    }
    return call_original(L);
}

/* io.read: upvalue 2 is io.input. */
static int l_io_read(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_call(L, 0, 1);
    FILE *f = stream_at(L, -1);
    lua_pop(L, 1);
    if (f == stdin) {
        refuse_keyboard(L);
    }
    return call_original(L);
}

/* dofile, loadfile, io.lines, debug.debug: without a name they read stdin. */
static int l_needs_name(lua_State *L)
{
    if (lua_isnoneornil(L, 1)) {
        refuse_keyboard(L);
    }
    return call_original(L);
}

/* Wrap field 'name' of the table on top. */
static void wrap(lua_State *L, const char *name, lua_CFunction fn)
{
    lua_getfield(L, -1, name);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, -2, name);
}

static void wrap_files(lua_State *L)
{
    luaL_getmetatable(L, LUA_FILEHANDLE);
    lua_getfield(L, -1, "__index");
    wrap(L, "write", l_file_write);
    wrap(L, "read", l_file_read);
    wrap(L, "lines", l_file_read);
    lua_getfield(L, -1, "write");
    lua_insert(L, -3);
    lua_pop(L, 2); /* the method write stays */

    lua_getglobal(L, "io");
    wrap(L, "lines", l_needs_name);
    lua_getfield(L, -1, "read");
    lua_getfield(L, -2, "input");
    lua_pushcclosure(L, l_io_read, 2);
    lua_setfield(L, -2, "read");
    lua_getfield(L, -1, "output");
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, l_io_write, 2);
    lua_setfield(L, -2, "write");
    lua_pop(L, 2);
}

/* --- leaving and warnings ----------------------------------------------- */

/* os.exit([code]): true and nothing are 0, false is 1. */
int qn_io_quit(lua_State *L)
{
    int code = 0;
    if (lua_isboolean(L, 1)) {
        code = lua_toboolean(L, 1) ? 0 : 1;
    } else {
        code = (int)luaL_optinteger(L, 1, 0);
    }
    qn_script_of(L)->exit_code = code;
    return qn_interrupt_unwind(L, QN_UNWIND_QUIT);
}

static void on_warning(void *user, const char *text, int to_continue)
{
    struct qn_script *s = user;
    if (!to_continue && s->warned.len == 0 && text[0] == '@') {
        if (qn_str_eq(text, "@on")) {
            s->warnings = true;
        } else if (qn_str_eq(text, "@off")) {
            s->warnings = false;
        }
        return;
    }
    qn_str_add(&s->warned, text);
    if (to_continue) {
        return;
    }
    if (s->warnings) {
        qn_str_add(&s->warned, "\n");
        qn_io_emit(s, "warning: ", 9, true);
        qn_io_emit(s, s->warned.text, s->warned.len, true);
    }
    qn_str_clear(&s->warned);
}

void qn_io_install(struct qn_script *s)
{
    lua_State *L = s->L;
    s->warnings = true;
    lua_setwarnf(L, on_warning, s);
    lua_register(L, "print", l_print);
    wrap_files(L);
    lua_pushglobaltable(L);
    wrap(L, "dofile", l_needs_name);
    wrap(L, "loadfile", l_needs_name);
    lua_getfield(L, -1, "debug");
    wrap(L, "debug", l_needs_name);
    lua_getfield(L, -2, "os");
    lua_pushcfunction(L, qn_io_quit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 3);
}
