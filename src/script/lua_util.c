/* lua_util.c - boxes, error values and classes for the bindings. */
#include "script/lua_util.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BOX "quern.box"
#define STR "quern.str"
#define ERROR "quern.error"
#define SORT "quern.sort" /* table.sort, whatever scripts do to the table */

/* --- memory ------------------------------------------------------------- */

struct qn_lua_box *qn_lua_box(lua_State *L, void (*fn)(void *p))
{
    struct qn_lua_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    box->p = NULL;
    box->free = fn;
    luaL_setmetatable(L, BOX);
    return box;
}

void qn_lua_box_free(struct qn_lua_box *box)
{
    if (box->p != NULL) {
        box->free(box->p);
        box->p = NULL;
    }
}

static int box_gc(lua_State *L)
{
    qn_lua_box_free(luaL_checkudata(L, 1, BOX));
    return 0;
}

struct qn_str *qn_lua_str(lua_State *L)
{
    struct qn_str *s = lua_newuserdatauv(L, sizeof *s, 0);
    memset(s, 0, sizeof *s);
    luaL_setmetatable(L, STR);
    return s;
}

static int str_gc(lua_State *L)
{
    qn_str_free(luaL_checkudata(L, 1, STR));
    return 0;
}

/* --- errors ------------------------------------------------------------- */

bool qn_lua_script_line(lua_State *L, lua_Debug *out)
{
    for (int level = 0; lua_getstack(L, level, out); level++) {
        lua_getinfo(L, "Sl", out);
        if (out->currentline > 0 &&
            !qn_starts_with(out->source, "@" QN_LUA_OWN)) {
            return true;
        }
    }
    return false;
}

/* "file:line:" of the script, or "". */
static void push_where(lua_State *L)
{
    lua_Debug ar;
    if (qn_lua_script_line(L, &ar)) {
        lua_pushfstring(L, "%s:%d:", ar.short_src, ar.currentline);
    } else {
        lua_pushliteral(L, "");
    }
}

/* Push an array of the lines of text. */
static void push_lines(lua_State *L, const char *text)
{
    lua_newtable(L);
    for (lua_Integer i = 1; text != NULL; i++) {
        const char *end = strchr(text, '\n');
        if (end == NULL) {
            lua_pushstring(L, text);
        } else {
            lua_pushlstring(L, text, (size_t)(end - text));
        }
        lua_rawseti(L, -2, i);
        text = end == NULL ? NULL : end + 1;
    }
}

int qn_lua_raise(lua_State *L, const char *code, const char *text)
{
    lua_createtable(L, 0, 4);
    lua_pushstring(L, code);
    lua_setfield(L, -2, "code");
    lua_pushstring(L, text);
    lua_setfield(L, -2, "message");
    push_lines(L, text);
    lua_setfield(L, -2, "items");
    push_where(L);
    lua_setfield(L, -2, "where");
    luaL_setmetatable(L, ERROR);
    return lua_error(L);
}

int qn_lua_raisef(lua_State *L, const char *code, const char *fmt, ...)
{
    char text[sizeof(struct qn_err)];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap); /* cut when too long */
    va_end(ap);
    return qn_lua_raise(L, code, text);
}

bool qn_lua_is_error(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) {
        return false;
    }
    luaL_getmetatable(L, ERROR);
    bool same = lua_rawequal(L, -1, -2) != 0;
    lua_pop(L, 2);
    return same;
}

int qn_lua_nil(lua_State *L, const char *code, const char *text)
{
    lua_pushnil(L);
    lua_pushstring(L, text);
    lua_pushstring(L, code);
    return 3;
}

int qn_lua_fail(lua_State *L, enum qn_status status, const struct qn_err *err)
{
    if (status == QN_EUSAGE) {
        return qn_lua_raise(L, qn_status_name(status), err->text);
    }
    return qn_lua_nil(L, qn_status_name(status), err->text);
}

/* Every item on a line of its own, each with the place. */
static int error_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "where");
    const char *where = luaL_optstring(L, 2, "");
    if (lua_getfield(L, 1, "items") != LUA_TTABLE) {
        return luaL_error(L, "an error without its items");
    }
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    lua_Integer n = luaL_len(L, 3);
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1) {
            luaL_addchar(&b, '\n');
        }
        if (where[0] != '\0') {
            luaL_addstring(&b, where);
            luaL_addchar(&b, ' ');
        }
        lua_rawgeti(L, 3, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    return 1;
}

void qn_lua_push_hint(lua_State *L, const char *word, const char *const *names,
                      int n)
{
    int i = qn_nearest(word, names, n);
    if (i < 0) {
        lua_pushliteral(L, "");
    } else {
        lua_pushfstring(L, " (did you mean '%s'?)", names[i]);
    }
}

void qn_lua_push_hint_of(lua_State *L, const char *word, int table)
{
    table = lua_absindex(L, table);
    size_t room = 0;
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        room++;
    }
    const char **names = lua_newuserdatauv(L, (room + 1) * sizeof *names, 0);
    int n = 0;
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            names[n++] = lua_tostring(L, -2);
        }
    }
    qn_lua_push_hint(L, word, names, n);
    lua_remove(L, -2);
}

/* --- names and lists ----------------------------------------------------- */

void qn_lua_sort(lua_State *L, int array, lua_CFunction less)
{
    array = lua_absindex(L, array);
    lua_getfield(L, LUA_REGISTRYINDEX, SORT);
    lua_pushvalue(L, array);
    if (less != NULL) {
        lua_pushcfunction(L, less);
    } else {
        lua_pushnil(L);
    }
    lua_call(L, 2, 0);
}

const char *const *qn_lua_keywords(void)
{
    static const char *const keywords[] = {
        "and",      "break",  "do",   "else", "elseif", "end",   "false", "for",
        "function", "goto",   "if",   "in",   "local",  "nil",   "not",   "or",
        "repeat",   "return", "then", "true", "until",  "while", NULL};
    return keywords;
}

/* --- classes ------------------------------------------------------------ */

void qn_lua_class(lua_State *L, const char *name, const luaL_Reg *meta,
                  const struct qn_lua_doc *docs)
{
    luaL_newmetatable(L, name);
    luaL_setfuncs(L, meta, 0);
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__metatable"); /* hands off */
    lua_newtable(L);
    for (; docs != NULL && docs->name != NULL; docs++) {
        lua_pushcfunction(L, docs->fn);
        lua_setfield(L, -2, docs->name);
    }
    lua_setfield(L, -2, "__methods");
    lua_pop(L, 1);
}

bool qn_lua_push_method(lua_State *L, int key)
{
    int top = lua_gettop(L);
    lua_pushvalue(L, key);
    if (lua_getmetatable(L, 1)) {
        lua_getfield(L, -1, "__methods");
        lua_pushvalue(L, top + 1);
        if (lua_rawget(L, -2) == LUA_TFUNCTION) {
            lua_replace(L, top + 1);
            lua_settop(L, top + 1);
            return true;
        }
    }
    lua_settop(L, top);
    return false;
}

static bool is_among(const char *word, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (qn_str_eq(word, *names)) {
            return true;
        }
    }
    return false;
}

static void add_unknown(lua_State *L, struct qn_str *text, const char *what,
                        const char *const *names)
{
    int n = 0;
    while (names[n] != NULL) {
        n++;
    }
    const char *key =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    if (key == NULL) {
        qn_str_addf(text, "%s%s: options have names, this one is a %s",
                    text->len > 0 ? "\n" : "", what, luaL_typename(L, -2));
        return;
    }
    qn_lua_push_hint(L, key, names, n);
    qn_str_addf(text, "%sunknown option '%s' of %s%s",
                text->len > 0 ? "\n" : "", key, what, lua_tostring(L, -1));
    lua_pop(L, 1);
}

void qn_lua_check_options(lua_State *L, int index, const char *what,
                          const char *const *names)
{
    if (lua_isnoneornil(L, index)) {
        lua_settop(L, index - 1);
        lua_newtable(L);
        return;
    }
    luaL_checktype(L, index, LUA_TTABLE);
    struct qn_str *text = qn_lua_str(L);
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING ||
            !is_among(lua_tostring(L, -2), names)) {
            add_unknown(L, text, what, names);
        }
    }
    if (text->len > 0) {
        qn_lua_raise(L, qn_status_name(QN_EUSAGE), text->text);
    }
    lua_pop(L, 1);
}

void qn_lua_util_install(lua_State *L)
{
    static const luaL_Reg box_meta[] = {{"__gc", box_gc}, {NULL, NULL}};
    static const luaL_Reg str_meta[] = {{"__gc", str_gc}, {NULL, NULL}};
    static const luaL_Reg error_meta[] = {{"__tostring", error_tostring},
                                          {NULL, NULL}};
    qn_lua_class(L, BOX, box_meta, NULL);
    qn_lua_class(L, STR, str_meta, NULL);
    qn_lua_class(L, ERROR, error_meta, NULL);
    lua_getglobal(L, "table");
    lua_getfield(L, -1, "sort");
    lua_setfield(L, LUA_REGISTRYINDEX, SORT);
    lua_pop(L, 1);
}
