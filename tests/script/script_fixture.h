/* script_fixture.h - Lua over a real lab with the trainer's tiny text. */
#ifndef QN_SCRIPT_FIXTURE_H
#define QN_SCRIPT_FIXTURE_H

#include "fixture.h"
#include "script/script.h"

struct script_fixture {
    struct fixture *base;
    struct qn_lab *lab;
    struct qn_script *s;
    struct qn_str out, errors; /* printed since the last call of run_* */
    int n_pumps;               /* since then */
    int interrupt_at;          /* the pump that interrupts; 0: none */
    int interrupt_every;       /* and again after so many; 0: once */
    int interrupt_more;        /* how many more at the same pump */
    bool has_screen;
};

/* cmocka's setup and teardown. The globals of Lua are then TEXT, the path of
 * the text, and SMALL, the options of a tiny run of 20 steps over it. */
int script_fixture_setup(void **state);
int script_fixture_teardown(void **state);
/* The same with --check, and with these --set. */
int script_fixture_setup_check(void **state);
int script_fixture_setup_set(void **state);
/* With a host that has a screen. */
int script_fixture_setup_screen(void **state);

/* The host of this fixture, for another script over its lab. */
struct qn_script_host script_fixture_host(struct script_fixture *f);

/* Run a chunk as if typed, or a file of tests/script/lua. */
enum qn_script_result type_in(struct script_fixture *f, const char *text);
enum qn_script_result run_file(struct script_fixture *f, const char *name);
/* Write a file and run it. */
enum qn_script_result run_text(struct script_fixture *f, const char *text);

/* It must end well; what it printed is then f->out. */
void must(struct script_fixture *f, const char *text);
/* The chunk prints exactly this. */
void assert_prints(struct script_fixture *f, const char *chunk,
                   const char *expected);
/* The chunk fails, and the error holds this. */
void assert_fails(struct script_fixture *f, const char *chunk,
                  const char *expected);
void assert_holds(const char *text, const char *part);
const char *printed(const struct script_fixture *f);
const char *complained(const struct script_fixture *f);

#endif
