/* lua_measure.c - run:measure: the shares of a whole split, asked for. */
#include "script/lua_run.h"
#include "script/lua_stats.h"
#include "script/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options at index 2, checked. */
struct request {
    struct qn_lab_measurement what;
    struct qn_lua_stats_look look;
    char checkpoint[32];
};

/* --- options ------------------------------------------------------------- */

static void complain(struct qn_str *problems, const char *text)
{
    qn_str_addf(problems, "%s%s", problems->len > 0 ? "\n" : "", text);
}

static void complain_type(lua_State *L, struct qn_str *problems,
                          const char *key, const char *wanted)
{
    qn_str_addf(problems, "%s%s: %s expected, got %s",
                problems->len > 0 ? "\n" : "", key, wanted,
                luaL_typename(L, -1));
}

static void check_split(lua_State *L, struct qn_str *problems,
                        struct request *r)
{
    int type = lua_getfield(L, 2, "split");
    r->what.split = QN_VALID;
    if (type != LUA_TNIL &&
        (type != LUA_TSTRING ||
         !qn_split_parse(lua_tostring(L, -1), &r->what.split))) {
        complain(problems, "split: must be train, valid or test");
    }
    r->look.split = qn_split_name(r->what.split);
}

/* The checkpoint option on top, "best", "last" or a step, as text. */
bool qn_lua_checkpoint_text(lua_State *L, char *out, size_t size)
{
    int whole = 0;
    lua_Integer step = lua_tointegerx(L, -1, &whole);
    out[0] = '\0';
    if (lua_isnil(L, -1)) {
        return true;
    }
    if (lua_type(L, -1) == LUA_TNUMBER && whole && step > 0) {
        (void)snprintf(out, size, "%lld", (long long)step);
        return true;
    }
    if (lua_type(L, -1) == LUA_TSTRING &&
        (qn_str_eq(lua_tostring(L, -1), "best") ||
         qn_str_eq(lua_tostring(L, -1), "last"))) {
        (void)snprintf(out, size, "%s", lua_tostring(L, -1));
        return true;
    }
    return false;
}

static void check_checkpoint(lua_State *L, struct qn_str *problems,
                             struct request *r)
{
    (void)lua_getfield(L, 2, "checkpoint");
    if (!qn_lua_checkpoint_text(L, r->checkpoint, sizeof r->checkpoint)) {
        complain(problems, "checkpoint: must be best, last or a step");
    }
    r->what.checkpoint = r->checkpoint;
}

/* Add "c" or "c,f" to the set; the first of all is what the table's own fields
 * speak of. */
static bool add_quantities(struct request *r, const char *names)
{
    while (true) {
        char name[8];
        enum qn_quantity of;
        size_t len = strcspn(names, ",");
        (void)snprintf(name, sizeof name, "%.*s", len < 8 ? (int)len : 7,
                       names);
        if (!qn_quantity_parse(name, &of)) {
            return false;
        }
        r->look.first = r->what.of == 0 ? of : r->look.first;
        r->what.of |= 1u << of;
        if (names[len] == '\0') {
            return true;
        }
        names += len + 1;
    }
}

static void check_of(lua_State *L, struct qn_str *problems, struct request *r)
{
    int type = lua_getfield(L, 2, "of");
    bool good = type == LUA_TNIL || type == LUA_TTABLE ||
                (type == LUA_TSTRING && add_quantities(r, lua_tostring(L, -1)));
    lua_Integer n = type == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, -1) : 0;
    for (lua_Integer i = 1; good && i <= n; i++) {
        good = lua_rawgeti(L, -1, i) == LUA_TSTRING &&
               add_quantities(r, lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    if (!good) {
        complain(problems, "of: must be one or a list of c, z, h, f, o");
    } else if (r->what.of == 0) {
        (void)add_quantities(r, "c");
    }
}

static void check_layers(lua_State *L, struct qn_str *problems,
                         struct request *r, int n_layers)
{
    int whole = 0, type = lua_getfield(L, 2, "layers");
    lua_Integer layer = lua_tointegerx(L, -1, &whole);
    if (type == LUA_TNIL ||
        (type == LUA_TSTRING && qn_str_eq(lua_tostring(L, -1), "pooled"))) {
        r->look.top = QN_LUA_TOP_POOLED;
    } else if (type == LUA_TSTRING && qn_str_eq(lua_tostring(L, -1), "all")) {
        r->look.top = QN_LUA_TOP_NONE;
    } else if (type == LUA_TNUMBER && whole && layer >= 1 &&
               layer <= n_layers) {
        r->look.top = (int)layer;
    } else {
        qn_str_addf(problems, "%slayers: must be pooled, all or 1..%d",
                    problems->len > 0 ? "\n" : "", n_layers);
    }
}

static void check_near(lua_State *L, struct qn_str *problems, struct request *r,
                       double usual)
{
    int type = lua_getfield(L, 2, "near");
    r->what.near = usual;
    if (type == LUA_TNUMBER) {
        r->what.near = (double)lua_tonumber(L, -1);
        if (!qn_lua_is_threshold(r->what.near)) {
            qn_str_addf(problems, "%snear: must be %s",
                        problems->len > 0 ? "\n" : "",
                        qn_key_find("stats.near")->range_text);
        }
    } else if (type != LUA_TNIL) {
        complain_type(L, problems, "near", "a number");
    }
}

/* All that is wrong with the options is said at once. */
static void check_request(lua_State *L, const struct qn_spec *spec,
                          struct request *r)
{
    struct qn_str *problems = qn_lua_str(L);
    int top = lua_gettop(L);
    *r = (struct request){.look = {.top = QN_LUA_TOP_POOLED}};
    check_split(L, problems, r);
    check_checkpoint(L, problems, r);
    check_of(L, problems, r);
    check_layers(L, problems, r, spec->model.layers);
    check_near(L, problems, r, spec->stats.near);
    lua_settop(L, top);
    if (problems->len > 0) {
        qn_lua_raise(L, "usage", problems->text);
    }
}

/* --- asking -------------------------------------------------------------- */

/* nil, message, code: the network has none of what was asked first. */
static int not_there(lua_State *L, const struct request *r)
{
    lua_pushfstring(L, "the network has no %s to count",
                    qn_quantity_name(r->look.first));
    return qn_lua_nil(L, qn_status_name(QN_ESTATE), lua_tostring(L, -1));
}

/* run:measure{ split =, checkpoint =, of =, layers =, near = } */
int qn_lua_run_measure(lua_State *L)
{
    static const char *const names[] = {"split",  "checkpoint", "of",
                                        "layers", "near",       NULL};
    struct qn_lab_run row;
    struct request r;
    qn_interrupt_needs_result(L);
    lua_settop(L, 2);
    qn_run_id id = qn_lua_run_row(L, 1, &row);
    qn_lua_check_options(L, 2, "run:measure", names);
    check_request(L, row.spec, &r);
    struct qn_lua_box *box = qn_lua_box(L, free);
    qn_ticket ticket;
    struct qn_err err;
    enum qn_status status =
        qn_lab_measure(qn_script_of(L)->lab, id, &r.what, &ticket, &err);
    if (status != QN_OK) {
        return qn_lua_fail(L, status, &err);
    }
    struct qn_note note;
    struct qn_stats_record *counts = NULL;
    int results = qn_lua_take_answer(L, ticket, &note, &counts);
    if (results > 0) {
        return results;
    }
    box->p = counts;
    if (counts->n_layers == 0 || (counts->of & 1u << r.look.first) == 0) {
        return not_there(L, &r);
    }
    qn_lua_push_stats(L, counts, &r.look);
    qn_lua_box_free(box);
    return 1;
}
