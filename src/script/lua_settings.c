/* lua_settings.c - flatten tables of options into keys and texts, check them.
 *
 * First everything is collected in Lua's memory, where an error may jump; then
 * the settings are put together in the order of the schema, so that the same
 * table always gives the same complaints in the same order.
 */
#include "script/lua_settings.h"

#include "script/lua_spec.h"
#include "script/lua_util.h"
#include "script/state.h"

#include <string.h>

#define MAX_NESTING 8

const char *qn_lua_below(const char *key, const char *prefix)
{
    size_t n = strlen(prefix);
    if (n == 0) {
        return key;
    }
    return strncmp(key, prefix, n) == 0 && key[n] == '.' ? key + n + 1 : NULL;
}

bool qn_lua_is_group(const char *prefix)
{
    for (int i = 0; i < qn_n_keys(); i++) {
        if (qn_lua_below(qn_key_at(i)->key, prefix) != NULL) {
            return true;
        }
    }
    return false;
}

/* --- a value as text ---------------------------------------------------- */

static const char *type_wanted(enum qn_key_type type)
{
    switch (type) {
    case QN_KEY_TEXT:
        return "text";
    case QN_KEY_PATH:
        return "a path";
    case QN_KEY_PATH_OR_FRACTION:
        return "a path or a number";
    case QN_KEY_INT:
        return "a whole number";
    case QN_KEY_DOUBLE:
        return "a number";
    case QN_KEY_BOOL:
        return "true or false";
    case QN_KEY_ENUM:
        return "a name";
    case QN_KEY_SET:
        return "a name or a list of them";
    case QN_KEY_INT_LIST:
        return "a whole number or a list of them";
    case QN_KEY_PERIOD:
        return "a period such as \"50 steps\"";
    case QN_KEY_DURATION:
        return "a time such as \"10 minutes\"";
    case QN_KEY_FOLD:
        return "a part such as \"1 of 5\"";
    }
    return "another type";
}

/* Push "key: a number expected, got string 'x'"; false. */
static bool wrong_type(lua_State *L, const struct qn_key_info *info, int index)
{
    const char *got = luaL_typename(L, index);
    if (lua_type(L, index) == LUA_TSTRING) {
        lua_pushfstring(L, "%s '%s'", got, lua_tostring(L, index));
    } else if (lua_type(L, index) == LUA_TNUMBER ||
               lua_type(L, index) == LUA_TBOOLEAN) {
        const char *text = luaL_tolstring(L, index, NULL);
        lua_pushfstring(L, "%s %s", got, text);
        lua_remove(L, -2);
    } else {
        lua_pushstring(L, got);
    }
    lua_pushfstring(L, "%s: %s expected, got %s", info->key,
                    type_wanted(info->type), lua_tostring(L, -1));
    lua_remove(L, -2);
    return false;
}

/* Push the text of the number at index. */
static void push_number(lua_State *L, int index)
{
    char buf[64];
    if (lua_isinteger(L, index)) {
        lua_pushfstring(L, "%I", (LUAI_UACINT)lua_tointeger(L, index));
    } else {
        lua_pushstring(L, qn_format_double(buf, sizeof buf,
                                           (double)lua_tonumber(L, index)));
    }
}

static bool push_whole(lua_State *L, const struct qn_key_info *info, int index)
{
    int whole;
    lua_Integer v = lua_tointegerx(L, index, &whole);
    if (!whole || lua_type(L, index) != LUA_TNUMBER) {
        return wrong_type(L, info, index);
    }
    lua_pushfstring(L, "%I", (LUAI_UACINT)v);
    return true;
}

/* Push "6,2" for { 6, 2 }; for tags, names instead of whole numbers. */
static bool push_list(lua_State *L, const struct qn_key_info *info, int index)
{
    index = lua_absindex(L, index);
    lua_Integer n = (lua_Integer)lua_rawlen(L, index);
    lua_pushliteral(L, "");
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, index, i);
        int item = lua_gettop(L);
        if (info->type == QN_KEY_INT_LIST && !push_whole(L, info, item)) {
            return false;
        }
        if (info->type != QN_KEY_INT_LIST && lua_type(L, item) != LUA_TSTRING) {
            return wrong_type(L, info, item);
        }
        lua_pushfstring(L, "%s%s%s", lua_tostring(L, item - 1),
                        i == 1 ? "" : ",", lua_tostring(L, -1));
        lua_replace(L, item - 1);
        lua_settop(L, item - 1);
    }
    return true;
}

static bool push_string(lua_State *L, const struct qn_key_info *info, int index)
{
    size_t len;
    const char *s = lua_tolstring(L, index, &len);
    if (strlen(s) != len) {
        lua_pushfstring(L, "%s: the text holds a NUL byte", info->key);
        return false;
    }
    bool text = info->type != QN_KEY_INT && info->type != QN_KEY_DOUBLE &&
                info->type != QN_KEY_BOOL && info->type != QN_KEY_INT_LIST;
    if (!text && !qn_str_eq(s, "none")) {
        return wrong_type(L, info, index);
    }
    lua_pushvalue(L, index);
    return true;
}

static bool takes_number(enum qn_key_type type)
{
    return type == QN_KEY_DOUBLE || type == QN_KEY_PERIOD ||
           type == QN_KEY_DURATION || type == QN_KEY_PATH_OR_FRACTION;
}

static bool takes_list(const struct qn_key_info *info)
{
    return info->type == QN_KEY_INT_LIST || info->type == QN_KEY_SET ||
           qn_str_eq(info->key, "tags");
}

/* Push the text of the value at index, or push what is wrong with it and return
 * false. */
static bool push_value(lua_State *L, const struct qn_key_info *info, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TSTRING:
        return push_string(L, info, index);
    case LUA_TNUMBER:
        if (info->type == QN_KEY_INT || info->type == QN_KEY_INT_LIST) {
            return push_whole(L, info, index);
        }
        if (takes_number(info->type)) {
            push_number(L, index);
            return true;
        }
        return wrong_type(L, info, index);
    case LUA_TBOOLEAN:
        if (info->type == QN_KEY_BOOL) {
            lua_pushstring(L, lua_toboolean(L, index) ? "true" : "false");
            return true;
        }
        return wrong_type(L, info, index);
    case LUA_TTABLE:
        return takes_list(info) ? push_list(L, info, index)
                                : wrong_type(L, info, index);
    default:
        return wrong_type(L, info, index);
    }
}

/* --- collecting --------------------------------------------------------- */

void qn_lua_options_begin(lua_State *L, struct qn_lua_options *o)
{
    luaL_checkstack(L, 40, "options");
    lua_newtable(L);
    o->map = lua_gettop(L);
    lua_newtable(L);
    o->base = lua_gettop(L);
    lua_newtable(L);
    o->problems = lua_gettop(L);
    o->preset = NULL;
}

/* Pops the text on top. */
static void add_problem(lua_State *L, const struct qn_lua_options *o)
{
    lua_rawseti(L, o->problems, (lua_Integer)lua_rawlen(L, o->problems) + 1);
}

/* Put the text on top, which is popped, under path. A key may come twice in one
 * table, as model.hidden and inside model; then both must say the same, since
 * neither is the first. */
static void put(lua_State *L, const struct qn_lua_options *o, const char *path)
{
    bool twice =
        lua_getfield(L, o->map, path) != LUA_TNIL && !lua_rawequal(L, -1, -2);
    lua_pop(L, 1);
    if (twice) {
        lua_pushfstring(L, "%s is given twice", path);
        add_problem(L, o);
    }
    lua_setfield(L, o->map, path);
}

static const char *group_name(const char *prefix)
{
    return prefix[0] == '\0' ? "options" : prefix;
}

/* A spec stands where it fits: what it was given counts as the script's own
 * words, the rest of it as what a preset says. */
static void add_spec(lua_State *L, const struct qn_lua_options *o, int index,
                     const char *prefix)
{
    const struct qn_lua_spec *spec = qn_lua_test_spec(L, index);
    if (!qn_str_eq(spec->prefix, prefix)) {
        lua_pushfstring(L, "%s: a spec of %s stands here", group_name(prefix),
                        group_name(spec->prefix));
        add_problem(L, o);
        return;
    }
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        if (qn_lua_below(key, prefix) != NULL) {
            qn_lua_push_setting_text(L, &spec->spec, key);
            lua_setfield(L, o->base, key);
        }
    }
    if (qn_str_eq(prefix, "data")) {
        /* A text or documents: that goes with the data, as a preset's word. */
        qn_lua_push_setting_text(L, &spec->spec, "task");
        lua_setfield(L, o->base, "task");
    }
    lua_getiuservalue(L, index, 1);
    int given = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, given) != 0;) {
        put(L, o, lua_tostring(L, -2));
    }
    lua_pop(L, 1);
}

static void add_table(lua_State *L, const struct qn_lua_options *o, int index,
                      const char *prefix, int depth);

/* The value on top stands at path, both of which the caller pops. */
static void add_entry(lua_State *L, const struct qn_lua_options *o,
                      const char *path, int depth)
{
    int value = lua_gettop(L);
    const struct qn_key_info *info = qn_key_find(path);
    if (info != NULL) {
        if (push_value(L, info, value)) {
            put(L, o, path);
        } else {
            add_problem(L, o);
        }
    } else if (!qn_lua_is_group(path)) {
        lua_pushliteral(L, "?"); /* the settings know the nearest name */
        lua_setfield(L, o->map, path);
    } else if (qn_lua_test_spec(L, value) != NULL) {
        add_spec(L, o, value, path);
    } else if (lua_type(L, value) == LUA_TTABLE) {
        add_table(L, o, value, path, depth + 1);
    } else {
        lua_pushfstring(L, "%s: a table or a spec expected, got %s", path,
                        luaL_typename(L, value));
        add_problem(L, o);
    }
    lua_settop(L, value);
}

static void add_table(lua_State *L, const struct qn_lua_options *o, int index,
                      const char *prefix, int depth)
{
    luaL_checkstack(L, 20, "options");
    if (depth > MAX_NESTING) {
        lua_pushfstring(L, "%s: tables nested too deeply", prefix);
        add_problem(L, o);
        return;
    }
    for (lua_pushnil(L); lua_next(L, index) != 0;) {
        int key = lua_gettop(L) - 1;
        if (lua_type(L, key) != LUA_TSTRING) {
            lua_pushfstring(L, "%s: options have names, this one is a %s",
                            group_name(prefix), luaL_typename(L, key));
            add_problem(L, o);
        } else if (!(prefix[0] == '\0' &&
                     qn_str_eq(lua_tostring(L, key), "preset"))) {
            const char *path =
                prefix[0] == '\0'
                    ? lua_pushstring(L, lua_tostring(L, key))
                    : lua_pushfstring(L, "%s.%s", prefix, lua_tostring(L, key));
            lua_pushvalue(L, key + 1);
            add_entry(L, o, path, depth);
        }
        lua_settop(L, key);
    }
}

/* The option 'preset' of the table at index: a name or a spec. The string is
 * left on the stack, so that it stays. */
static void add_preset(lua_State *L, struct qn_lua_options *o, int index)
{
    int type = lua_getfield(L, index, "preset");
    if (type == LUA_TSTRING) {
        o->preset = lua_tostring(L, -1);
    } else if (qn_lua_test_spec(L, -1) != NULL) {
        add_spec(L, o, lua_gettop(L), "");
    } else if (type != LUA_TNIL) {
        lua_pushfstring(L, "preset: a name or a qn.preset expected, got %s",
                        luaL_typename(L, -1));
        add_problem(L, o);
    }
}

/* Whether the table at index sets this key to something. */
static bool sets(lua_State *L, int index, const char *key)
{
    bool set = lua_getfield(L, index, key) == LUA_TSTRING &&
               !qn_str_eq(lua_tostring(L, -1), "none");
    lua_pop(L, 1);
    return set;
}

static void unset(lua_State *L, int index, const char *key)
{
    lua_pushnil(L);
    lua_setfield(L, index, key);
}

/* What is new over what was: of steps and epochs the newer one stays. */
static void merge(lua_State *L, struct qn_lua_options *o,
                  const struct qn_lua_options *fresh)
{
    bool steps = sets(L, fresh->map, "steps");
    bool epochs = sets(L, fresh->map, "epochs");
    if (steps && epochs) {
        lua_pushliteral(L, "steps and epochs exclude each other: give one");
        add_problem(L, o);
    }
    if (steps) {
        unset(L, o->map, "epochs");
    } else if (epochs) {
        unset(L, o->map, "steps");
    }
    for (lua_pushnil(L); lua_next(L, fresh->map) != 0;) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, o->map);
    }
}

void qn_lua_options_add(lua_State *L, struct qn_lua_options *o, int index,
                        const char *prefix)
{
    index = lua_absindex(L, index);
    luaL_checkstack(L, 40, "options");
    if (qn_lua_test_spec(L, index) != NULL) {
        add_spec(L, o, index, prefix);
        return;
    }
    luaL_checktype(L, index, LUA_TTABLE);
    if (prefix[0] == '\0') {
        add_preset(L, o, index);
    }
    struct qn_lua_options fresh = *o;
    lua_newtable(L);
    fresh.map = lua_gettop(L);
    add_table(L, &fresh, index, prefix, 0);
    merge(L, o, &fresh);
    lua_remove(L, fresh.map);
}

/* --- checking ----------------------------------------------------------- */

static void free_settings(void *p)
{
    qn_settings_free(p);
}

static void take_table(lua_State *L, struct qn_settings *s, int table,
                       enum qn_source source)
{
    for (int i = 0; i < qn_n_keys(); i++) {
        const char *key = qn_key_at(i)->key;
        if (lua_getfield(L, table, key) == LUA_TSTRING) {
            qn_settings_set(s, key, lua_tostring(L, -1), source);
        }
        lua_pop(L, 1);
    }
}

/* Push the names in map that no key has, in order. */
static void push_unknown(lua_State *L, int map)
{
    lua_newtable(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, map) != 0; lua_pop(L, 1)) {
        if (qn_key_find(lua_tostring(L, -2)) == NULL) {
            lua_pushvalue(L, -2);
            lua_rawseti(L, -4, ++n);
        }
    }
    qn_lua_sort(L, -1, NULL);
}

static void complain(lua_State *L, struct qn_settings *s,
                     const struct qn_lua_options *o)
{
    push_unknown(L, o->map);
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        qn_settings_set(s, lua_tostring(L, -1), "?", QN_FROM_USER);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    qn_lua_sort(L, o->problems, NULL); /* tables are walked in no order */
    n = (lua_Integer)lua_rawlen(L, o->problems);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, o->problems, i);
        qn_settings_complain(s, "%s", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
}

/* A preset lends its name to a run that has none. */
static void take_preset(struct qn_settings *s, const char *preset)
{
    struct qn_err err;
    if (qn_settings_preset(s, preset, &err) != QN_OK) {
        qn_settings_complain(s, "%s", err.text);
        /* The text would have come with it: no second complaint about that. */
        qn_settings_set(s, "data.train", "builtin:kjv", QN_FROM_DEFAULT);
        return;
    }
    qn_settings_set(s, "name", preset, QN_FROM_PRESET);
}

void qn_lua_options_finish(lua_State *L, const struct qn_lua_options *o,
                           bool with_set, struct qn_spec *out)
{
    const struct qn_script *script = qn_script_of(L);
    struct qn_lua_box *box = qn_lua_box(L, free_settings);
    struct qn_settings *s = box->p = qn_settings_new();
    if (o->preset != NULL) {
        take_preset(s, o->preset);
    }
    take_table(L, s, o->base, QN_FROM_PRESET);
    take_table(L, s, o->map, QN_FROM_USER);
    complain(L, s, o);
    for (int i = 0; with_set && i < script->n_set; i++) {
        qn_settings_assign(s, script->set[i], QN_FROM_USER);
    }
    struct qn_err err;
    enum qn_status status = qn_settings_finish(s, out, &err);
    qn_lua_box_free(box);
    lua_pop(L, 1);
    if (status != QN_OK) {
        qn_lua_raise(L, qn_status_name(status), err.text);
    }
}

/* --- and back ----------------------------------------------------------- */

const char *qn_lua_push_setting_text(lua_State *L, const struct qn_spec *spec,
                                     const char *key)
{
    struct qn_str *text = qn_lua_str(L);
    qn_spec_text(spec, key, text);
    const char *pushed =
        lua_pushlstring(L, text->text == NULL ? "" : text->text, text->len);
    lua_remove(L, -2);
    return pushed;
}

bool qn_lua_options_problems(lua_State *L, const struct qn_lua_options *o)
{
    qn_lua_sort(L, o->problems, NULL); /* tables are walked in no order */
    lua_Integer n = (lua_Integer)lua_rawlen(L, o->problems);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, o->problems, i);
        luaL_addvalue(&b);
        luaL_addstring(&b, i < n ? "\n" : "");
    }
    luaL_pushresult(&b);
    if (n == 0) {
        lua_pop(L, 1);
    }
    return n > 0;
}

/* Replace the text on top, "a,b", by the list of its parts. */
static void split(lua_State *L, bool numbers)
{
    const char *text = lua_tostring(L, -1);
    lua_newtable(L);
    for (lua_Integer i = 1; text[0] != '\0'; i++) {
        size_t len = strcspn(text, ",");
        lua_pushlstring(L, text, len);
        if (numbers) {
            (void)lua_stringtonumber(L, lua_tostring(L, -1));
            lua_remove(L, -2);
        }
        lua_rawseti(L, -2, i);
        text += len + (text[len] == ',' ? 1 : 0);
    }
    lua_remove(L, -2);
}

void qn_lua_push_setting(lua_State *L, const struct qn_spec *spec,
                         const struct qn_key_info *info)
{
    int64_t whole;
    double number;
    const char *text = qn_lua_push_setting_text(L, spec, info->key);
    if (qn_str_eq(text, "none") && info->type != QN_KEY_ENUM) {
        lua_pushnil(L);
    } else if (info->type == QN_KEY_BOOL) {
        lua_pushboolean(L, qn_str_eq(text, "true"));
    } else if (info->type == QN_KEY_INT && qn_parse_int(text, &whole)) {
        lua_pushinteger(L, (lua_Integer)whole);
    } else if ((info->type == QN_KEY_DOUBLE ||
                info->type == QN_KEY_PATH_OR_FRACTION) &&
               qn_parse_double(text, &number)) {
        lua_pushnumber(L, (lua_Number)number);
    } else if (takes_list(info)) {
        split(L, info->type == QN_KEY_INT_LIST);
        return;
    } else {
        return; /* the text itself */
    }
    lua_remove(L, -2);
}
