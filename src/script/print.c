/* print.c - a value as the prompt shows it: tables in Lua's own notation.
 *
 * Bottom up: each item becomes a text, then the table is one line when that is
 * short enough, else a line per item. At most 4 levels and 40 items of each; a
 * table inside itself is named, not entered.
 */
#include "script/lua_util.h"
#include "script/state.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 4
#define MAX_ITEMS 40
#define MAX_STRING 200 /* bytes of a string inside a table */
#define WIDTH 72

static void push_text(lua_State *L, int index, int depth, int seen);

/* --- strings ------------------------------------------------------------ */

static void add_escaped(luaL_Buffer *b, unsigned char c)
{
    char text[8];
    switch (c) {
    case '\n':
        luaL_addstring(b, "\\n");
        return;
    case '\t':
        luaL_addstring(b, "\\t");
        return;
    case '\r':
        luaL_addstring(b, "\\r");
        return;
    case '"':
    case '\\':
        luaL_addchar(b, '\\');
        luaL_addchar(b, (char)c);
        return;
    default:
        text[0] = '\\';
        text[1] = (char)('0' + c / 100);
        text[2] = (char)('0' + c / 10 % 10);
        text[3] = (char)('0' + c % 10);
        luaL_addlstring(b, text, 4);
    }
}

/* Push the string at index in quotes, cut when it is long. */
static void push_quoted(lua_State *L, int index)
{
    size_t len;
    const char *s = lua_tolstring(L, index, &len);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '"');
    size_t i = 0;
    while (i < len && i < MAX_STRING) {
        uint32_t code;
        int n = qn_utf8_decode(s + i, len - i, &code);
        if (n == 0 || code < 0x20 || code == 0x7f || code == '"' ||
            code == '\\') {
            add_escaped(&b, (unsigned char)s[i]);
            i++;
        } else {
            luaL_addlstring(&b, s + i, (size_t)n);
            i += (size_t)n;
        }
    }
    luaL_addstring(&b, i < len ? "\"..." : "\"");
    luaL_pushresult(&b);
}

/* Whether the string at index may stand before "=" as it is. */
static bool is_name(lua_State *L, int index)
{
    size_t len;
    const char *s = lua_tolstring(L, index, &len);
    bool name = isalpha((unsigned char)s[0]) || s[0] == '_';
    for (size_t i = 0; i < len; i++) {
        name = name && (isalnum((unsigned char)s[i]) || s[i] == '_');
    }
    for (const char *const *k = qn_lua_keywords(); *k != NULL; k++) {
        name = name && !qn_str_eq(s, *k);
    }
    return name;
}

/* --- keys --------------------------------------------------------------- */

/* Numbers, strings, the rest as it comes. */
static int compare_keys(lua_State *L)
{
    int a = lua_type(L, 1), b = lua_type(L, 2);
    bool less = false;
    if (a != b) {
        less = (a == LUA_TNUMBER) || (a == LUA_TSTRING && b != LUA_TNUMBER);
    } else if (a == LUA_TNUMBER || a == LUA_TSTRING) {
        less = lua_compare(L, 1, 2, LUA_OPLT) != 0;
    }
    lua_pushboolean(L, less);
    return 1;
}

/* Push the array of the keys of table that are not 1..n. */
static void push_other_keys(lua_State *L, int table, lua_Integer n)
{
    lua_newtable(L);
    lua_Integer count = 0;
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        bool listed = lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 &&
                      lua_tointeger(L, -2) <= n;
        if (!listed) {
            lua_pushvalue(L, -2);
            lua_rawseti(L, -4, ++count);
        }
    }
    qn_lua_sort(L, -1, compare_keys);
}

/* --- tables ------------------------------------------------------------- */

/* Join the texts of the array on top: one line if it fits, else a line each,
 * four columns in. Replaces the array. */
static void join(lua_State *L, int depth)
{
    lua_Integer n = luaL_len(L, -1);
    size_t total = 4;
    bool flat = true;
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        size_t len;
        const char *s = lua_tolstring(L, -1, &len);
        flat = flat && strchr(s, '\n') == NULL;
        total += len + 2;
        lua_pop(L, 1);
    }
    flat = flat && total + 4 * (size_t)depth <= WIDTH;
    int items = lua_gettop(L);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, flat ? "{ " : "{\n    ");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, items, i);
        if (!flat) {
            luaL_gsub(L, lua_tostring(L, -1), "\n", "\n    ");
            lua_remove(L, -2);
        }
        luaL_addvalue(&b);
        if (i < n) {
            luaL_addstring(&b, flat ? ", " : ",\n    ");
        }
    }
    luaL_addstring(&b, flat ? " }" : "\n}");
    luaL_pushresult(&b);
    lua_remove(L, items);
}

/* Push "key = " for the key at index. */
static void push_key(lua_State *L, int key)
{
    if (lua_type(L, key) == LUA_TSTRING && is_name(L, key)) {
        lua_pushfstring(L, "%s = ", lua_tostring(L, key));
        return;
    }
    if (lua_type(L, key) == LUA_TSTRING) {
        push_quoted(L, key);
    } else {
        (void)luaL_tolstring(L, key, NULL);
    }
    lua_pushfstring(L, "[%s] = ", lua_tostring(L, -1));
    lua_remove(L, -2);
}

/* Append to the array at 'items' the text of the value on top, which is popped,
 * after the key at index 'key' (0: none). */
static void add_item(lua_State *L, int items, int key, int depth, int seen)
{
    int value = lua_gettop(L);
    if (key != 0) {
        push_key(L, key);
    } else {
        lua_pushliteral(L, "");
    }
    push_text(L, value, depth + 1, seen);
    lua_concat(L, 2);
    lua_rawseti(L, items, luaL_len(L, items) + 1);
    lua_settop(L, value - 1);
}

static void add_more(lua_State *L, int items, lua_Integer left)
{
    if (left > 0) {
        lua_pushfstring(L, "... %I more", (LUAI_UACINT)left);
        lua_rawseti(L, items, luaL_len(L, items) + 1);
    }
}

static void push_items(lua_State *L, int table, int depth, int seen)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, table);
    lua_newtable(L);
    int items = lua_gettop(L);
    for (lua_Integer i = 1; i <= n && i <= MAX_ITEMS; i++) {
        lua_rawgeti(L, table, i);
        add_item(L, items, 0, depth, seen);
    }
    push_other_keys(L, table, n);
    int keys = lua_gettop(L);
    lua_Integer others = luaL_len(L, keys);
    lua_Integer room = n < MAX_ITEMS ? MAX_ITEMS - n : 0;
    for (lua_Integer i = 1; i <= others && i <= room; i++) {
        lua_rawgeti(L, keys, i);
        int key = lua_gettop(L);
        lua_pushvalue(L, key);
        lua_rawget(L, table);
        add_item(L, items, key, depth, seen);
        lua_settop(L, keys);
    }
    lua_settop(L, items);
    lua_Integer hidden = n > MAX_ITEMS ? n - MAX_ITEMS : 0;
    add_more(L, items, hidden + (others > room ? others - room : 0));
}

/* seen: table -> how deep it stands, for those being printed. */
static void push_table(lua_State *L, int table, int depth, int seen)
{
    lua_pushvalue(L, table);
    if (lua_rawget(L, seen) == LUA_TNUMBER) {
        int up = depth - (int)lua_tointeger(L, -1);
        lua_pushfstring(L, "<cycle: the table %d level%s up>", up,
                        up == 1 ? "" : "s");
        lua_remove(L, -2);
        return;
    }
    lua_pop(L, 1);
    lua_pushnil(L);
    if (lua_next(L, table) == 0) {
        lua_pushliteral(L, "{}");
        return;
    }
    lua_pop(L, 2);
    if (depth >= MAX_DEPTH) {
        lua_pushliteral(L, "{...}");
        return;
    }
    lua_pushvalue(L, table);
    lua_pushinteger(L, depth);
    lua_rawset(L, seen);
    push_items(L, table, depth, seen);
    join(L, depth);
    lua_pushvalue(L, table);
    lua_pushnil(L);
    lua_rawset(L, seen);
}

static void push_text(lua_State *L, int index, int depth, int seen)
{
    luaL_checkstack(L, 20, "a value to print");
    int type = lua_type(L, index);
    bool has_text = luaL_getmetafield(L, index, "__tostring") != LUA_TNIL;
    if (has_text) {
        lua_pop(L, 1);
    }
    if (type == LUA_TSTRING && depth > 0) {
        push_quoted(L, index);
    } else if (type == LUA_TTABLE && !has_text) {
        push_table(L, index, depth, seen);
    } else {
        (void)luaL_tolstring(L, index, NULL);
    }
}

void qn_print_value(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    lua_newtable(L);
    push_text(L, index, 0, lua_gettop(L));
    lua_remove(L, -2);
}
