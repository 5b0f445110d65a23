/* help.c - qn.help: pages made of the tables that the functions come from. */
#include "script/help.h"

#include "script/lua_run.h"
#include "script/lua_settings.h"
#include "script/lua_spec.h"
#include "script/lua_stats.h"
#include "script/state.h"

#include <string.h>

static const char *const objects[] = {"qn",    "run",  "series",
                                      "stats", "spec", NULL};

const char *const *qn_help_objects(void)
{
    return objects;
}

const struct qn_lua_doc *qn_help_methods(const char *object)
{
    if (qn_str_eq(object, "qn")) {
        return qn_lua_module_docs();
    }
    if (qn_str_eq(object, "run")) {
        return qn_lua_run_docs();
    }
    if (qn_str_eq(object, "series")) {
        return qn_lua_series_docs();
    }
    if (qn_str_eq(object, "stats")) {
        return qn_lua_stats_docs();
    }
    return qn_str_eq(object, "spec") ? qn_lua_spec_docs() : NULL;
}

/* --- pages -------------------------------------------------------------- */

static void add_doc(struct qn_str *s, const struct qn_lua_doc *d)
{
    qn_str_addf(s, "%s\n  %s\n  %s\n", d->signature, d->help, d->example);
}

/* How long the first clause of a help text is. */
static int clause(const char *help)
{
    const char *p = help;
    while (*p != '\0' &&
           !(strchr(".:;,(", *p) != NULL && (p[1] == ' ' || p[1] == '\0'))) {
        p++;
    }
    return (int)(p - help);
}

static void add_overview(struct qn_str *s)
{
    for (const char *const *o = objects; *o != NULL; o++) {
        char sep = qn_str_eq(*o, "qn") ? '.' : ':';
        for (const struct qn_lua_doc *d = qn_help_methods(*o); d->name; d++) {
            qn_str_addf(s, "  %s%c%-*s %.*s\n", *o, sep, 16 - (int)strlen(*o),
                        d->name, clause(d->help), d->help);
        }
    }
    qn_str_add(s, "qn.help(\"train\"), qn.help(\"run\"), qn.help(\"settings\")"
                  " or a key such as qn.help(\"model.window\") say more.\n");
}

static void add_fields(struct qn_str *s)
{
    qn_str_add(s, "fields of a run:\n");
    for (const struct qn_lua_field *f = qn_lua_run_fields(); f->name; f++) {
        qn_str_addf(s, "  %-16s %s\n", f->name, f->help);
    }
}

static void add_key(struct qn_str *s, const struct qn_key_info *info)
{
    bool range = info->range_text[0] != '\0';
    qn_str_addf(s, "  %-20s %s (%s%s%s)%s\n", info->key, info->help,
                info->default_text, range ? "; " : "",
                range ? info->range_text : "", info->live ? " *" : "");
}

/* The keys that are, or stand below, the topic; "" for all. */
static bool add_keys(struct qn_str *s, const char *topic)
{
    bool any = false;
    for (int i = 0; i < qn_n_keys(); i++) {
        const struct qn_key_info *info = qn_key_at(i);
        if (qn_str_eq(info->key, topic) ||
            qn_lua_below(info->key, topic) != NULL) {
            add_key(s, info);
            any = true;
        }
    }
    if (any) {
        qn_str_add(s, "  (default; range)  *: run:set may change it\n");
    }
    return any;
}

/* "train", "qn.train", "run:wait": every function of that name; "paper" all
 * that stand below it. */
static bool add_functions(struct qn_str *s, const char *topic)
{
    bool any = false;
    const char *name = strpbrk(topic, ".:");
    size_t owner = name == NULL ? 0 : (size_t)(name - topic);
    name = name == NULL ? topic : name + 1;
    for (const char *const *o = objects; *o != NULL; o++) {
        bool other = owner > 0 &&
                     (strlen(*o) != owner || strncmp(*o, topic, owner) != 0);
        for (const struct qn_lua_doc *d = qn_help_methods(*o); d->name; d++) {
            bool named =
                qn_str_eq(d->name, name) || qn_lua_below(d->name, name) != NULL;
            if ((named && !other) || qn_str_eq(d->name, topic)) {
                add_doc(s, d);
                any = true;
            }
        }
    }
    return any;
}

static bool add_object(struct qn_str *s, const char *topic)
{
    const struct qn_lua_doc *d = qn_help_methods(topic);
    for (; d != NULL && d->name != NULL; d++) {
        add_doc(s, d);
    }
    if (qn_str_eq(topic, "run")) {
        add_fields(s);
    }
    return qn_help_methods(topic) != NULL;
}

static bool add_topic(struct qn_str *s, const char *topic)
{
    if (qn_str_eq(topic, "settings")) {
        return add_keys(s, "");
    }
    bool any = add_functions(s, topic);
    any |= add_object(s, topic);
    return (topic[0] != '\0' && add_keys(s, topic)) || any;
}

/* Push the topic: a word, or the word for a value of ours. */
static void push_topic(lua_State *L)
{
    if (luaL_testudata(L, 1, QN_LUA_RUN) != NULL) {
        lua_pushliteral(L, "run");
    } else if (luaL_testudata(L, 1, QN_LUA_SERIES) != NULL) {
        lua_pushliteral(L, "series");
    } else if (qn_lua_test_spec(L, 1) != NULL) {
        lua_pushliteral(L, "spec");
    } else if (qn_lua_is_stats(L, 1)) {
        lua_pushliteral(L, "stats");
    } else {
        lua_pushstring(L, luaL_checkstring(L, 1));
    }
}

/* Push what else could be meant: a function, or else a setting. */
static void push_near_topic(lua_State *L, const char *topic)
{
    lua_newtable(L);
    for (const char *const *o = objects; *o != NULL; o++) {
        for (const struct qn_lua_doc *d = qn_help_methods(*o); d->name; d++) {
            lua_pushboolean(L, true);
            lua_setfield(L, -2, d->name);
        }
    }
    qn_lua_push_hint_of(L, topic, -1);
    if (lua_rawlen(L, -1) > 0) {
        return;
    }
    lua_newtable(L);
    for (int i = 0; i < qn_n_keys(); i++) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, qn_key_at(i)->key);
    }
    qn_lua_push_hint_of(L, topic, -1);
}

static int unknown_topic(lua_State *L, const char *topic)
{
    push_near_topic(L, topic);
    lua_pushfstring(L, "there is no help on '%s'%s", topic,
                    lua_tostring(L, -1));
    return qn_lua_nil(L, qn_status_name(QN_ENOTFOUND), lua_tostring(L, -1));
}

int qn_lua_help(lua_State *L)
{
    struct qn_script *script = qn_script_of(L);
    lua_settop(L, 1);
    struct qn_str *s = qn_lua_str(L);
    if (lua_isnil(L, 1)) {
        add_overview(s);
    } else {
        push_topic(L);
        const char *topic = lua_tostring(L, -1);
        if (!add_topic(s, topic)) {
            return unknown_topic(L, topic);
        }
    }
    qn_io_emit(script, s->text, s->len, false);
    return 0;
}
