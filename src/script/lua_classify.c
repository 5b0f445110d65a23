/* lua_classify.c - run:classify: what a classifier says of a text. */
#include "script/lua_run.h"
#include "script/state.h"

/* Push { label, probability, words, known }. */
static void push_judgement(lua_State *L, const struct qn_note *note)
{
    lua_createtable(L, 0, 4);
    lua_pushstring(L, note->judgement.label == 1 ? "positive" : "negative");
    lua_setfield(L, -2, "label");
    lua_pushnumber(L, (lua_Number)note->judgement.probability);
    lua_setfield(L, -2, "probability");
    lua_pushinteger(L, note->judgement.words);
    lua_setfield(L, -2, "words");
    lua_pushinteger(L, note->judgement.known);
    lua_setfield(L, -2, "known");
}

/* run:classify(text) -> table | nil, message, code
 *
 * Texts come from anywhere: one that says nothing to the run is a fact of the
 * world, like a run that is a language model. */
int qn_lua_run_classify(lua_State *L)
{
    size_t len;
    qn_interrupt_needs_result(L);
    qn_run_id id = qn_lua_check_run(L, 1);
    luaL_argexpected(L, lua_type(L, 2) == LUA_TSTRING, 2, "string");
    const char *text = lua_tolstring(L, 2, &len);
    qn_ticket ticket;
    struct qn_err err;
    enum qn_status status =
        qn_lab_classify(qn_script_of(L)->lab, id, text, len, &ticket, &err);
    if (status != QN_OK) {
        return qn_lua_nil(L, qn_status_name(status), err.text);
    }
    struct qn_note note;
    int results = qn_lua_wait_answer(L, ticket, &note, NULL);
    if (results > 0) {
        return results;
    }
    status = (enum qn_status)note.status;
    if (status != QN_OK) {
        return qn_lua_nil(L, qn_status_name(status), note.text);
    }
    push_judgement(L, &note);
    return 1;
}
