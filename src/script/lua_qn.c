/* lua_qn.c - the module: what qn holds, closed against misspelling. */
#include "script/help.h"
#include "script/lua_paper.h"
#include "script/lua_run.h"
#include "script/lua_spec.h"
#include "script/state.h"

#include <string.h>

/* qn.view(): the screen is there already, or there is none. */
static int l_view(lua_State *L)
{
    struct qn_script *s = qn_script_of(L);
    if (!s->host.has_screen) {
        static const char text[] = "qn.view: there is no screen\n";
        qn_io_emit(s, text, sizeof text - 1, false);
    }
    return 0;
}

const struct qn_lua_doc *qn_lua_module_docs(void)
{
    static const struct qn_lua_doc docs[] = {
        {"train", "qn.train{ key = value, ... } -> run | nil, message, code",
         "Start training on a thread of its own. The run begins when the chunk "
         "waits or ends. model, data, optim and preset take specs or tables.",
         "run = qn.train{ preset = \"demo\", steps = 500 }", qn_lua_train},
        {"run", "qn.run(name | number) -> run | nil, message, code",
         "A run of this session or from the store, by number, name or the "
         "beginning of its folder's name.",
         "qn.run(1)", qn_lua_find_run},
        {"runs", "qn.runs() -> list", "All runs of the store, oldest first.",
         "qn.runs()", qn_lua_list_runs},
        {"qrnn", "qn.qrnn{ key = value, ... } -> spec",
         "A model of QRNN layers; see qn.help(\"model\").",
         "model = qn.qrnn{ layers = 2, hidden = 128, activation = \"drelu\" }",
         qn_lua_qrnn},
        {"lstm", "qn.lstm{ key = value, ... } -> spec",
         "A model of LSTM layers; see qn.help(\"model\").",
         "model = qn.lstm{ layers = 2, hidden = 128, dropout = 0.5 }",
         qn_lua_lstm},
        {"sgd", "qn.sgd{ key = value, ... } -> spec",
         "Stochastic gradient descent, with momentum and decay of the rate; "
         "see qn.help(\"optim\").",
         "optim = qn.sgd{ lr = 1, clip_norm = 10 }", qn_lua_sgd},
        {"rmsprop", "qn.rmsprop{ key = value, ... } -> spec",
         "RMSprop; see qn.help(\"optim\").",
         "optim = qn.rmsprop{ lr = 0.001, rho = 0.9 }", qn_lua_rmsprop},
        {"adam", "qn.adam{ key = value, ... } -> spec",
         "Adam; see qn.help(\"optim\").", "optim = qn.adam{ lr = 0.002 }",
         qn_lua_adam},
        {"corpus", "qn.corpus{ key = value, ... } -> spec | nil, message, code",
         "A text, read once to see that it is there: sizes, symbols and hash "
         "say what was found; see qn.help(\"data\").",
         "data = qn.corpus{ train = \"builtin:kjv\" }", qn_lua_corpus},
        {"labelled",
         "qn.labelled{ key = value, ... } -> spec | nil, message, code",
         "Documents with labels, for a classifier: a folder of pos and neg or "
         "a file of labelled lines. sizes says the words and documents how "
         "many there are of each split, symbols the different words; see "
         "qn.help(\"data\").",
         "data = qn.labelled{ train = \"imdb/imdb.train.tsv\", fold = \"1 of "
         "5\" }",
         qn_lua_labelled},
        {"preset", "qn.preset(name [, changes]) -> spec",
         "A ready-made run, for qn.train.",
         "qn.preset(\"demo\", { epochs = 1 })", qn_lua_preset},
        {"paper.activation_table",
         "qn.paper.activation_table{ size =, runs =, train =, changes =, split "
         "= } -> rows | nil, message, code",
         "The paper's Table 3 beside the same shares of our runs: of tanh, "
         "relu "
         "and drelu, taken from the store or trained. size is 200 or 640.",
         "qn.paper.activation_table{ size = 200 }", NULL},
        {"paper.sentiment_table",
         "qn.paper.sentiment_table{ folds =, names =, changes =, train = } -> "
         "rows | nil, message, code",
         "The paper's Table 1 beside the accuracy of our runs: mean and "
         "deviation over folds of the sentiment presets, taken from the store "
         "or trained. folds is 1..5.",
         "qn.paper.sentiment_table{ folds = 1, names = { \"drelu-256\" } }",
         NULL},
        {"help", "qn.help([topic])",
         "What there is, or all about a function, an object or a setting.",
         "qn.help(\"train\")", qn_lua_help},
        {"view", "qn.view()", "The screen; without one, a line that says so.",
         "qn.view()", l_view},
        {"quit", "qn.quit([code])",
         "Leave the program; runs are saved and closed.", "qn.quit()",
         qn_io_quit},
        {NULL, NULL, NULL, NULL, NULL},
    };
    return docs;
}

/* Upvalue 1: the table of all there is. */
static int module_index(lua_State *L)
{
    const char *name = luaL_checkstring(L, 2);
    qn_lua_push_hint_of(L, name, lua_upvalueindex(1));
    return qn_lua_raisef(L, "usage", "qn has no field '%s'%s", name,
                         lua_tostring(L, -1));
}

static int module_newindex(lua_State *L)
{
    return qn_lua_raisef(L, "usage", "qn is closed: '%s' cannot be set",
                         luaL_tolstring(L, 2, NULL));
}

static int module_tostring(lua_State *L)
{
    lua_pushliteral(L, "quern " QN_VERSION ", see qn.help()");
    return 1;
}

static int next_entry(lua_State *L)
{
    lua_settop(L, 2);
    if (lua_next(L, 1) != 0) {
        return 2;
    }
    lua_pushnil(L);
    return 1;
}

/* for name, value in pairs(qn) */
static int module_pairs(lua_State *L)
{
    lua_pushcfunction(L, next_entry);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushnil(L);
    return 3;
}

/* Give the metatable on top this metamethod over the contents at index. */
static void set_meta(lua_State *L, const char *name, lua_CFunction fn,
                     int contents)
{
    lua_pushvalue(L, contents);
    lua_pushcclosure(L, fn, 1);
    lua_setfield(L, -2, name);
}

/* Known names are found in the contents without a call; module_index is theirs
 * for the rest. */
static void close_contents(lua_State *L, int contents)
{
    lua_newtable(L);
    set_meta(L, "__index", module_index, contents);
    lua_setmetatable(L, contents);
}

void qn_module_install(lua_State *L)
{
    qn_lua_spec_install(L);
    qn_lua_params_install(L);
    qn_lua_run_install(L);
    qn_lua_series_install(L);
    qn_lua_stats_install(L);
    qn_lua_runs_install(L);
    lua_newtable(L); /* qn itself stays empty, so that no name can be changed */
    lua_newtable(L);
    int contents = lua_gettop(L);
    for (const struct qn_lua_doc *d = qn_lua_module_docs(); d->name; d++) {
        if (d->fn != NULL) { /* else it stands in a table of its own */
            lua_pushcfunction(L, d->fn);
            lua_setfield(L, contents, d->name);
        }
    }
    lua_pushliteral(L, QN_VERSION);
    lua_setfield(L, contents, "version");
    lua_newtable(L);
    lua_pushvalue(L, contents);
    lua_setfield(L, -2, "__index");
    set_meta(L, "__newindex", module_newindex, contents);
    set_meta(L, "__pairs", module_pairs, contents);
    set_meta(L, "__tostring", module_tostring, contents);
    lua_pushliteral(L, "quern");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, contents - 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushvalue(L, contents - 1);
    lua_setfield(L, -2, "quern");
    qn_lua_push_paper(L);
    lua_setfield(L, contents, "paper");
    close_contents(L, contents);
    lua_settop(L, contents - 1);
    lua_setglobal(L, "qn");
}
