/* state.h - what the files of this folder share: the state behind script.h.
 *
 * A chunk that must end whatever its pcalls say (os.exit, --check at its end, a
 * second Ctrl-C) sets 'unwind' and raises; our pcall, xpcall and
 * coroutine.resume pass the error on while it is set.
 */
#ifndef QN_SCRIPT_STATE_H
#define QN_SCRIPT_STATE_H

#include "base/str.h"
#include "script/script.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdatomic.h>

enum qn_unwind {
    QN_UNWIND_NONE,
    QN_UNWIND_INTERRUPT,
    QN_UNWIND_QUIT,
    QN_UNWIND_CHECKED
};

struct qn_script {
    lua_State *L;
    struct qn_lab *lab;
    struct qn_script_host host;
    char **set; /* "KEY=VALUE" of --set */
    int n_set;
    bool check;
    struct qn_spec defaults; /* what a spec is when nothing is said */

    atomic_int interrupts; /* counted by signal handlers, taken by the hook */
    int n_interrupts;      /* of the chunk that runs */
    enum qn_unwind unwind;
    bool running;   /* a chunk runs */
    bool at_prompt; /* and it was typed */
    double last_pump;
    int exit_code;
    int checked_line;
    bool warnings;        /* switched by warn "@on" and "@off" */
    struct qn_str warned; /* a warning that comes in pieces */
};

struct qn_script *qn_script_of(lua_State *L);

/* --- interrupt.c -------------------------------------------------------- */

/* The count hook, and pcall, xpcall and coroutine.resume of ours. */
void qn_interrupt_install(struct qn_script *s);
/* Around every chunk. */
void qn_interrupt_begin(struct qn_script *s, bool at_prompt);
void qn_interrupt_end(struct qn_script *s);
/* Let the host work for at most timeout seconds: true when the person asked to
 * stop waiting. Then free what the wait holds and return
 * qn_interrupt_result(L): nil, "interrupted", "interrupted", or it raises. */
bool qn_interrupt_pump(lua_State *L, double timeout);
int qn_interrupt_result(lua_State *L);
/* End the chunk, whoever calls pcall. Does not return. */
int qn_interrupt_unwind(lua_State *L, enum qn_unwind why);
/* With --check: end it here, since this call needs a result. */
void qn_interrupt_needs_result(lua_State *L);

/* --- lua_io.c ----------------------------------------------------------- */

/* Text to the host, with what is not UTF-8 replaced. */
void qn_io_emit(struct qn_script *s, const char *text, size_t len,
                bool is_error);
/* print, io.write, io.read, os.exit, warn: by way of the host. */
void qn_io_install(struct qn_script *s);
int qn_io_quit(lua_State *L); /* qn.quit, os.exit */

/* --- print.c ------------------------------------------------------------ */

/* Push the text of the value at index as the prompt shows it. */
void qn_print_value(lua_State *L, int index);

/* --- globals.c ---------------------------------------------------------- */

/* Reading an undefined global from a line typed at the prompt raises. */
void qn_globals_install(lua_State *L);

/* --- lua_qn.c ----------------------------------------------------------- */

/* The module: global 'qn' and require "quern". */
void qn_module_install(lua_State *L);

#endif
