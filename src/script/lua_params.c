/* lua_params.c - spec:params: every tensor of a network, and how many numbers.
 */
#include "train/shapes.h"

#include "base/mem.h"
#include "script/lua_settings.h"
#include "script/lua_spec.h"
#include "script/state.h"

#include <stdio.h>
#include <stdlib.h>

#define PARAMS "quern.params"
#define MAX_SYMBOLS 100000000

static void free_list(void *p)
{
    qn_shapes_fini(p);
    free(p);
}

/* The corpus at index 2, or NULL when there is none. */
static const struct qn_lua_spec *test_corpus(lua_State *L)
{
    const struct qn_lua_spec *data = qn_lua_test_spec(L, 2);
    return data != NULL && qn_str_eq(data->prefix, "data") ? data : NULL;
}

/* Word vectors that are not trained are no parameters. */
static bool has_own_vectors(const struct qn_lua_spec *spec)
{
    return spec->prefix[0] == '\0' && spec->spec.data.vectors[0] != '\0';
}

/* Symbols of the corpus at index 2: a corpus or their number; without one what
 * the spec of a whole run says. */
static int check_symbols(lua_State *L, const struct qn_lua_spec *spec)
{
    int whole = 0;
    lua_Integer n = lua_tointegerx(L, 2, &whole);
    if (test_corpus(L) != NULL) {
        qn_interrupt_needs_result(L);
        lua_getfield(L, 2, "symbols");
        n = lua_tointeger(L, -1);
        lua_pop(L, 1);
    } else if (lua_isnil(L, 2)) {
        n = spec->spec.data.vocab_size;
        if (n == 0 && has_own_vectors(spec)) {
            n = 1; /* no tensor depends on it */
        } else if (n == 0) {
            qn_lua_raise(L, "usage",
                         "the number of symbols is needed: spec:params(corpus) "
                         "or spec:params(number)");
        }
    } else if (lua_type(L, 2) != LUA_TNUMBER || !whole || n < 1 ||
               n > MAX_SYMBOLS) {
        qn_lua_raisef(L, "usage",
                      "a qn.corpus or a number of symbols expected, got %s",
                      luaL_tolstring(L, 2, NULL));
    }
    return (int)n;
}

static void set_count(lua_State *L, const char *key, size_t n)
{
    lua_pushinteger(L, (lua_Integer)n);
    lua_setfield(L, -2, key);
}

/* Push { name =, shape = { ... }, count = }. */
static void push_tensor(lua_State *L, const struct qn_shape *p)
{
    lua_createtable(L, 0, 3);
    lua_pushstring(L, p->name);
    lua_setfield(L, -2, "name");
    lua_createtable(L, p->n_dims, 0);
    for (int d = 0; d < p->n_dims; d++) {
        lua_pushinteger(L, (lua_Integer)p->dim[d]);
        lua_rawseti(L, -2, d + 1);
    }
    lua_setfield(L, -2, "shape");
    set_count(L, "count", p->count);
}

bool qn_lua_has_params(const struct qn_lua_spec *spec)
{
    return spec->prefix[0] == '\0' || qn_str_eq(spec->prefix, "model");
}

/* spec:params([corpus | symbols]) */
int qn_lua_spec_params(lua_State *L)
{
    const struct qn_lua_spec *spec = luaL_checkudata(L, 1, QN_LUA_SPEC);
    lua_settop(L, 2);
    if (!qn_lua_has_params(spec)) {
        return qn_lua_raisef(L, "usage",
                             "a spec of %s has no parameters: a model or a "
                             "whole run has",
                             spec->prefix);
    }
    int symbols = check_symbols(L, spec);
    const struct qn_lua_spec *data = test_corpus(L);
    struct qn_spec values = spec->spec;
    if (data != NULL && spec->prefix[0] != '\0') {
        /* A model by itself is for what the corpus is for. */
        values.task = data->spec.task;
        values.data = data->spec.data;
    }
    struct qn_lua_box *box = qn_lua_box(L, free_list);
    struct qn_shapes *list = qn_xcalloc(1, sizeof *list);
    qn_shapes_init(list, &values, symbols);
    box->p = list;
    lua_createtable(L, 0, 3);
    set_count(L, "all", list->all);
    set_count(L, "trainable", list->trainable);
    lua_createtable(L, list->n, 0);
    for (int i = 0; i < list->n; i++) {
        push_tensor(L, &list->items[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "tensors");
    luaL_setmetatable(L, PARAMS);
    qn_lua_box_free(box);
    return 1;
}

/* Append "layers.0.conv.weight     [36, 6, 2]                  432" for the
 * tensor on top. */
static void add_tensor(lua_State *L, struct qn_str *text)
{
    char shape[96];
    size_t len = 0;
    (void)lua_getfield(L, -1, "count");
    (void)lua_getfield(L, -2, "name");
    if (lua_getfield(L, -3, "shape") != LUA_TTABLE) {
        lua_pop(L, 3);
        return;
    }
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    shape[0] = '\0';
    for (lua_Integer d = 1; d <= n && len < sizeof shape; d++) {
        lua_rawgeti(L, -1, d);
        len += (size_t)snprintf(shape + len, sizeof shape - len, "%s%lld",
                                d > 1 ? " x " : "",
                                (long long)lua_tointeger(L, -1));
        lua_pop(L, 1);
    }
    qn_str_addf(text, "\n%-28s %-20s %12lld",
                lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "",
                shape, (long long)lua_tointeger(L, -3));
    lua_pop(L, 3);
}

static int params_tostring(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct qn_str *text = qn_lua_str(L);
    lua_getfield(L, 1, "all");
    lua_getfield(L, 1, "trainable");
    qn_str_addf(text, "%lld parameters, as the paper counts; %lld trainable",
                (long long)lua_tointeger(L, -2),
                (long long)lua_tointeger(L, -1));
    bool any = lua_getfield(L, 1, "tensors") == LUA_TTABLE;
    lua_Integer n = any ? (lua_Integer)lua_rawlen(L, -1) : 0;
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_rawgeti(L, -1, i) == LUA_TTABLE) {
            add_tensor(L, text);
        }
        lua_pop(L, 1);
    }
    lua_pushlstring(L, text->text, text->len);
    return 1;
}

void qn_lua_params_install(lua_State *L)
{
    static const luaL_Reg meta[] = {{"__tostring", params_tostring},
                                    {NULL, NULL}};
    qn_lua_class(L, PARAMS, meta, NULL);
}
