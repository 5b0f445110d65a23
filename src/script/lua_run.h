/* lua_run.h - runs and what hangs on them, as Lua has them: ids, no pointers.
 */
#ifndef QN_SCRIPT_LUA_RUN_H
#define QN_SCRIPT_LUA_RUN_H

#include "lab/lab.h"
#include "script/lua_util.h"

#define QN_LUA_RUN "quern.run"
#define QN_LUA_SERIES "quern.series"

/* Push a run; id 0 is the run that --check does not make. */
void qn_lua_push_run(lua_State *L, qn_run_id id);
/* The id of the run at index; raises when there is none, ends --check. */
qn_run_id qn_lua_check_run(lua_State *L, int index);
/* The same with its row. The pointers hold until the next poll. */
qn_run_id qn_lua_run_row(lua_State *L, int index, struct qn_lab_run *row);

/* Let the handle at index name this run from now on. */
void qn_lua_move_run(lua_State *L, int index, qn_run_id id);

struct qn_lua_field {
    const char *name, *help;
    void (*push)(lua_State *L, const struct qn_lab_run *run);
};
const struct qn_lua_field *qn_lua_run_fields(void); /* name NULL at the end */
const struct qn_lua_doc *qn_lua_run_docs(void);
const struct qn_lua_doc *qn_lua_series_docs(void);
const char *const *qn_lua_series_fields(void); /* NULL at the end */

/* --- lua_fork.c ------------------------------------------------------------
 */
int qn_lua_run_fork(lua_State *L);
/* Push what a run says of the run that it comes from, or nil. */
void qn_lua_push_parent(lua_State *L, const struct qn_lab_run *r);

/* --- lua_wait.c: methods that wait --------------------------------------- */
int qn_lua_run_wait(lua_State *L);
int qn_lua_run_pause(lua_State *L);
int qn_lua_run_resume(lua_State *L);
/* Push the array of "KEY=VALUE" of the options at index 2, in Lua's memory; *n
 * of them. */
const char *const *qn_lua_push_changes(lua_State *L, int *n);
int qn_lua_run_evaluate(lua_State *L);
int qn_lua_run_sample(lua_State *L);
/* Wait for the answer, good or not: 0, or the number of results to return when
 * the wait was interrupted. counts as below. */
int qn_lua_wait_answer(lua_State *L, qn_ticket ticket, struct qn_note *note,
                       struct qn_stats_record **counts);
/* The same: 0 when *note holds a good one, else the number of
 * results to return. counts: of a measurement, the caller's to free; NULL for
 * any other question. */
int qn_lua_take_answer(lua_State *L, qn_ticket ticket, struct qn_note *note,
                       struct qn_stats_record **counts);

/* --- lua_classify.c ------------------------------------------------------- */
int qn_lua_run_classify(lua_State *L);

/* --- lua_export.c --------------------------------------------------------- */
int qn_lua_run_export(lua_State *L);

/* --- lua_measure.c -------------------------------------------------------- */
int qn_lua_run_measure(lua_State *L);
/* The checkpoint option on top, best, last, a step or nil, as text ("" for
 * nil); false: it is none of these. */
bool qn_lua_checkpoint_text(lua_State *L, char *out, size_t size);

/* --- lua_series.c, lua_stats.c ------------------------------------------- */
int qn_lua_run_metric(lua_State *L);
int qn_lua_run_stats(lua_State *L);

/* --- lua_runs.c ----------------------------------------------------------- */
int qn_lua_train(lua_State *L);
int qn_lua_find_run(lua_State *L);
int qn_lua_list_runs(lua_State *L);

void qn_lua_run_install(lua_State *L);
void qn_lua_series_install(lua_State *L);
void qn_lua_stats_install(lua_State *L);
void qn_lua_runs_install(lua_State *L);

#endif
