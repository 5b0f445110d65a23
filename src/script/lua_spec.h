/* lua_spec.h - specs in Lua: immutable values of one group of settings. */
#ifndef QN_SCRIPT_LUA_SPEC_H
#define QN_SCRIPT_LUA_SPEC_H

#include "nn/settings.h"
#include "script/lua_util.h"

#define QN_LUA_SPEC "quern.spec"

/* User value 1: the keys that were given, as text; 2: facts of the data. */
struct qn_lua_spec {
    struct qn_spec spec; /* resolved; only what is below prefix means anything,
                            and the task of data */
    char prefix[32];     /* "model", "data", "optim", ... or "": a whole run */
    const char *preset;  /* static: the preset it began with, or NULL */
};

struct qn_lua_options;

/* The spec at index, or NULL. */
struct qn_lua_spec *qn_lua_test_spec(lua_State *L, int index);
/* Push what a run was made of. */
void qn_lua_push_config(lua_State *L, const struct qn_spec *spec);

int qn_lua_qrnn(lua_State *L);
int qn_lua_lstm(lua_State *L);
int qn_lua_sgd(lua_State *L);
int qn_lua_rmsprop(lua_State *L);
int qn_lua_adam(lua_State *L);
int qn_lua_preset(lua_State *L);
/* Check what was collected and push it as a spec of this group. */
struct qn_lua_spec *qn_lua_finish_spec(lua_State *L,
                                       const struct qn_lua_options *o,
                                       const char *prefix);

/* lua_corpus.c */
int qn_lua_corpus(lua_State *L);
int qn_lua_labelled(lua_State *L);
/* Read the data of the spec on top once, so that a missing file is known now:
 * its facts become user value 2. Returns the number of results. */
int qn_lua_open_data(lua_State *L, const struct qn_lua_spec *spec);
/* Names of what is known of its data once it was read, NULL at the end. */
const char *const *qn_lua_facts(const struct qn_lua_spec *spec);
/* Push a fact of the data of the spec at index 1, or push nothing and return
 * false when this is the name of none. */
bool qn_lua_push_fact(lua_State *L, const struct qn_lua_spec *spec,
                      const char *name);
/* Whether two paths of data, as settings have them, name one file that is
 * there: a run keeps the whole path of a file it was not given so. */
bool qn_lua_same_file(lua_State *L, const char *a, const char *b);

/* lua_params.c */
int qn_lua_spec_params(lua_State *L);
/* A model has them, and a whole run. */
bool qn_lua_has_params(const struct qn_lua_spec *spec);
void qn_lua_params_install(lua_State *L);

const struct qn_lua_doc *qn_lua_spec_docs(void);
void qn_lua_spec_install(lua_State *L);

#endif
