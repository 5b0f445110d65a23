/* lua_corpus.c - qn.corpus and qn.labelled: specs of data that is read once. */
#include "data/source.h"
#include "data/vectors.h"
#include "script/lua_settings.h"
#include "script/lua_spec.h"
#include "script/state.h"
#include "train/text.h"

#include <stdlib.h>

/* --- facts --------------------------------------------------------------- */

static void free_corpus(void *p)
{
    qn_corpus_free(p);
}

/* Push { train =, valid =, test = }: symbols, or documents. */
static void push_sizes(lua_State *L, const struct qn_corpus *c, bool documents)
{
    lua_createtable(L, 0, QN_N_SPLITS);
    for (int i = 0; i < QN_N_SPLITS; i++) {
        enum qn_split split = (enum qn_split)i;
        size_t n = 0;
        if (documents) {
            n = qn_corpus_documents(c, split)->n;
        } else {
            (void)qn_corpus_ids(c, split, &n);
        }
        lua_pushinteger(L, (lua_Integer)n);
        lua_setfield(L, -2, qn_split_name(split));
    }
}

/* Push { sizes =, documents =, symbols =, hash = } of an open corpus. */
static void push_facts(lua_State *L, const struct qn_corpus *c)
{
    lua_createtable(L, 0, 4);
    push_sizes(L, c, false);
    lua_setfield(L, -2, "sizes");
    if (qn_corpus_documents(c, QN_TRAIN) != NULL) {
        push_sizes(L, c, true);
        lua_setfield(L, -2, "documents");
    }
    lua_pushinteger(L, qn_vocab_size(qn_corpus_vocab(c)));
    lua_setfield(L, -2, "symbols");
    lua_pushstring(L, qn_corpus_sha256(c, QN_TRAIN));
    lua_setfield(L, -2, "hash");
}

const char *const *qn_lua_facts(const struct qn_lua_spec *spec)
{
    static const char *const all[] = {"documents", "sizes", "symbols", "hash",
                                      NULL};
    if (!qn_str_eq(spec->prefix, "data")) {
        return all + 4;
    }
    return spec->spec.task == QN_TASK_CLASSIFY ? all : all + 1;
}

bool qn_lua_push_fact(lua_State *L, const struct qn_lua_spec *spec,
                      const char *name)
{
    const char *const *fact = qn_lua_facts(spec);
    while (*fact != NULL && !qn_str_eq(*fact, name)) {
        fact++;
    }
    if (*fact == NULL) {
        return false;
    }
    qn_interrupt_needs_result(L);
    if (lua_getiuservalue(L, 1, 2) == LUA_TTABLE) {
        lua_getfield(L, -1, name);
    }
    return true;
}

/* --- files --------------------------------------------------------------- */

/* The file's one true path, the caller's to free; NULL when it is not there. */
static char *true_path(const char *given, const char *data_dir)
{
    char *path = NULL;
    if (qn_source_find(given, data_dir, &path, NULL) != QN_OK) {
        return NULL;
    }
    char *resolved = realpath(path, NULL);
    free(path);
    return resolved;
}

bool qn_lua_same_file(lua_State *L, const char *a, const char *b)
{
    const char *data_dir = qn_lab_env(qn_script_of(L)->lab)->data_dir;
    char *one = true_path(a, data_dir);
    char *other = true_path(b, data_dir);
    bool same = one != NULL && other != NULL && qn_str_eq(one, other);
    free(one);
    free(other);
    return same;
}

/* --- reading ------------------------------------------------------------- */

int qn_lua_open_data(lua_State *L, const struct qn_lua_spec *spec)
{
    const struct qn_train_env *env = qn_lab_env(qn_script_of(L)->lab);
    struct qn_lua_box *box = qn_lua_box(L, free_corpus);
    struct qn_spec values = spec->spec;
    struct qn_corpus *corpus = NULL;
    struct qn_err err;
    if (values.data.vectors[0] != '\0') {
        /* The model is not known here, and need not be. */
        int width = qn_vectors_width(values.data.vectors, env->data_dir);
        values.model.embed = width > 0 ? width : values.model.embed;
    }
    enum qn_status status = qn_text_open(env, &values, NULL, &corpus, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    box->p = corpus;
    push_facts(L, corpus);
    qn_lua_box_free(box);
    lua_remove(L, -2);
    lua_setiuservalue(L, -2, 2);
    return 1;
}

/* With --check nothing is read. */
static int make(lua_State *L, const char *task)
{
    struct qn_lua_options o;
    lua_settop(L, 1);
    qn_lua_options_begin(L, &o);
    qn_lua_options_add(L, &o, 1, "data");
    lua_pushstring(L, task);
    lua_setfield(L, o.base, "task");
    const struct qn_lua_spec *spec = qn_lua_finish_spec(L, &o, "data");
    return qn_script_of(L)->check ? 1 : qn_lua_open_data(L, spec);
}

int qn_lua_corpus(lua_State *L)
{
    return make(L, "lm");
}

int qn_lua_labelled(lua_State *L)
{
    return make(L, "classify");
}
