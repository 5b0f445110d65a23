/* damage.c - a damaged file of a run: one sentence, and nothing else is lost.
 * usage: faults_damage [STRIDE]   every STRIDE-th case; 1: all of them
 */
#include "subject.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SETTINGS                                                               \
    "data.train=text.txt batch=4 seq=8 threads=2 model.layers=2 "              \
    "model.hidden=8 model.embed=4 optim.lr=0.01 eval.every=4 "                 \
    "stats.every=4 checkpoint.every=4 "

enum damage {
    REMOVED,
    EMPTY,
    CUT_TO_ONE,
    CUT_IN_HALF,
    CUT_BY_ONE,
    FLIPPED_FIRST,
    FLIPPED_MIDDLE,
    FLIPPED_LAST,
    FOLDER,
    BINARY,
    FIFO,
    N_DAMAGES
};
static const char *const damage_names[N_DAMAGES] = {
    "removed",       "emptied",
    "cut to a byte", "cut in half",
    "cut by a byte", "flipped at its start",
    "flipped",       "flipped at its end",
    "a folder",      "a binary file",
    "a FIFO"};

/* What is done to the run; %s is its path. */
struct command {
    const char *name, *line;
    bool writes; /* it goes on with the run */
};
static const struct command commands[] = {
    {"runs", "runs --json", false},
    {"eval", "eval --json %s", false},
    {"stats", "stats --json --checkpoint last %s", false},
    {"export", "export %s --to out", false},
    {"resume", "resume --json %s steps=18", true},
    {"fork", "fork --json %s steps=18", false},
    {"rerun", "rerun --json %s", false},
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

static void write_damaged(const char *path, const struct qn_bytes *whole,
                          enum damage damage)
{
    static const char binary[] = "\x7f"
                                 "ELF\x02\x01\x01\0\xff\xfe\x00\n\x80quern";
    size_t len = whole->len;
    struct qn_bytes to = {qn_xmalloc(len + 1), len};
    if (len > 0) {
        memcpy(to.data, whole->data, len);
    }
    size_t cuts[N_DAMAGES] = {[CUT_TO_ONE] = 1,
                              [CUT_IN_HALF] = len / 2,
                              [CUT_BY_ONE] = len > 0 ? len - 1 : 0};
    size_t flips[N_DAMAGES] = {
        [FLIPPED_MIDDLE] = len / 2, [FLIPPED_LAST] = len > 0 ? len - 1 : 0};
    if (damage <= CUT_BY_ONE) {
        to.len = cuts[damage] < len ? cuts[damage] : len;
    } else if (damage <= FLIPPED_LAST && len > 0) {
        to.data[flips[damage]] ^= 0x10;
    }
    /* In place, as a bad disk would do it. */
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    const char *data = damage == BINARY ? binary : to.data;
    size_t n = damage == BINARY ? sizeof binary - 1 : to.len;
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    qn_bytes_free(&to);
}

/* Of a folder only being gone or something else makes sense: false then. */
static bool do_damage(const char *path, enum damage damage)
{
    struct qn_bytes whole = {0};
    bool is_dir = qn_path_is_dir(path);
    if (is_dir && damage != REMOVED && damage != BINARY && damage != FIFO) {
        return false;
    }
    if (!is_dir) {
        assert_int_equal(qn_file_read(path, &whole, NULL), QN_OK);
    }
    if (damage == REMOVED || damage == FOLDER || damage == FIFO || is_dir) {
        assert_int_equal(qn_remove_tree(path, NULL), QN_OK);
    }
    if (damage == FOLDER) {
        assert_int_equal(mkdir(path, 0777), 0);
    } else if (damage == FIFO) {
        assert_int_equal(mkfifo(path, 0666), 0);
    } else if (damage != REMOVED) {
        write_damaged(path, &whole, damage);
    }
    qn_bytes_free(&whole);
    return true;
}

/* The store as it was, with two runs of which the first is damaged. */
static void renew_store(void)
{
    assert_int_equal(sh("rm -rf store out && cp -a whole store"), 0);
}

/* All of a run but this file and what a reader may add. */
static char *rest_of(const char *run, const char *file)
{
    char *all = tree(run, file);
    struct qn_str rest = {0};
    for (const char *line = all; *line != '\0';
         line += strcspn(line, "\n") + 1) {
        if (!qn_starts_with(line, "lock ") &&
            !qn_starts_with(line, "metrics.cache ")) {
            qn_str_add_bytes(&rest, line, strcspn(line, "\n") + 1);
        }
    }
    free(all);
    return qn_str_take(&rest);
}

struct a_case {
    const char *run, *file;
    enum damage damage;
    const struct command *command;
};

/* Everything said is sentences; of a failure there is one, or a list of what
 * does not fit. What is damaged may read as a mistake of the person's, as a
 * text whose symbols the vocabulary lacks. */
static bool ends_well(const struct a_case *c, const struct outcome *o)
{
    bool of_all = strcmp(c->command->name, "runs") == 0;
    const char *line = o->err;
    while (qn_starts_with(line, "quern: ")) {
        line += strcspn(line, "\n") + 1;
    }
    if (o->status != 0) {
        bool list = qn_ends_with(o->err, "in the network\n");
        return o->status <= 2 && !of_all &&
               (list ? *line == '\0' : is_one_sentence(o->err));
    }
    return *line == '\0' && (!of_all || strstr(o->out, "\"bystander\""));
}

/* What a resume that went on must leave as it was. */
static bool is_fixed(const char *line)
{
    return qn_starts_with(line, "spec.json ") ||
           qn_starts_with(line, "code.json ") ||
           qn_starts_with(line, "vocab.txt ");
}

/* The first line of what there was before that is not there after; NULL when
 * nothing is lost. The caller frees it. */
static char *lost(const struct a_case *c, const struct outcome *o,
                  const char *before, const char *after)
{
    bool went_on = c->command->writes && o->status == 0;
    for (const char *line = before; *line != '\0';
         line += strcspn(line, "\n") + 1) {
        char *whole = qn_xstrndup(line, strcspn(line, "\n") + 1);
        if ((!went_on || is_fixed(line)) && strstr(after, whole) == NULL) {
            return whole;
        }
        free(whole);
    }
    return NULL;
}

static struct outcome command_on(const struct command *c, const char *run)
{
    const char *place = strchr(c->line, '%');
    return place != NULL ? tried_any("%.*s%s%s", (int)(place - c->line),
                                     c->line, run, place + 2)
                         : tried_any("%s", c->line);
}

/* 1 when the case went wrong, which is said. */
static int check_case(const struct a_case *c)
{
    renew_store();
    char *path = qn_path_join(c->run, c->file);
    bool done = do_damage(path, c->damage);
    free(path);
    if (!done) {
        return 0;
    }
    char *before = rest_of(c->run, c->file);
    struct outcome o = command_on(c->command, c->run);
    char *after = rest_of(c->run, c->file);
    char *gone = lost(c, &o, before, after);
    int wrong = gone != NULL || !ends_well(c, &o);
    if (wrong) {
        fprintf(stderr, "%s with %s %s: status %d, %s%s%s\n", c->command->name,
                c->file, damage_names[c->damage], o.status, o.err,
                gone != NULL ? "changed: " : "", gone != NULL ? gone : "");
    }
    free(gone);
    free(after);
    free(before);
    outcome_free(&o);
    return wrong;
}

/* Every file and folder of the run, one a line. */
static char *all_names(const char *run)
{
    char *all = tree(run, NULL);
    struct qn_str names = {0};
    for (const char *line = all; *line != '\0';
         line += strcspn(line, "\n") + 1) {
        size_t n = strcspn(line, " /\n");
        while (line[n] == '/' && line[n + 1] != '\n') {
            n += 1 + strcspn(line + n + 1, " /\n");
        }
        qn_str_addf(&names, "%.*s\n", (int)n, line);
    }
    free(all);
    return qn_str_take(&names);
}

static void make_whole(void)
{
    write_sentences("text.txt", 120, 7);
    free(quern_out("train --json --store whole " SETTINGS
                   "steps=14 name=a checkpoint.keep.last=3"));
    free(quern_out("train --json --store whole " SETTINGS
                   "steps=1 name=bystander"));
}

static char *the_run(void)
{
    assert_int_equal(sh("ls -d whole/*-a | sed s/whole/store/ >name"), 0);
    char *run = file_text("name");
    run[strcspn(run, "\n")] = '\0';
    return run;
}

static void a_damaged_file_is_one_sentence_and_costs_no_other(void **state)
{
    (void)state;
    const char *given = getenv("QN_STRIDE");
    int stride = given != NULL ? atoi(given) : 1, k = 0;
    int n_wrong = 0;
    make_whole();
    renew_store();
    char *run = the_run();
    char *names = all_names(run);
    char *rest = NULL;
    for (char *file = strtok_r(names, "\n", &rest); file != NULL;
         file = strtok_r(NULL, "\n", &rest)) {
        for (int d = 0; d < N_DAMAGES; d++) {
            for (size_t i = 0; i < N_COMMANDS; i++) {
                if (k++ % stride == 0) {
                    n_wrong += check_case(&(struct a_case){
                        run, file, (enum damage)d, &commands[i]});
                }
            }
        }
    }
    free(names);
    free(run);
    assert_int_equal(n_wrong, 0);
}

/* Where "last" points to is damaged in one of these ways. */
static void damaged_last(const char *file, enum damage damage)
{
    renew_store();
    char *run = the_run();
    char *path = qn_xasprintf("%s/checkpoints/14/%s", run, file);
    assert_true(do_damage(path, damage));
    struct outcome o = tried("resume --json %s steps=18", run);
    if (o.status != 0 || strstr(o.err, "14") == NULL ||
        strstr(o.err, "12") == NULL) {
        fail_msg("%s %s: status %d, %s", file, damage_names[damage], o.status,
                 o.err);
    }
    char *ours = qn_xasprintf("%s/checkpoints/18/model.safetensors", run);
    same_bytes(ours, "calm.safetensors");
    struct view v = view_of(run);
    assert_int_equal(v.n_steps, 18);
    view_free(&v);
    outcome_free(&o);
    free(ours);
    free(path);
    free(run);
}

static void a_damaged_last_checkpoint_gives_way_to_the_one_before(void **state)
{
    (void)state;
    static const enum damage some[] = {REMOVED,     EMPTY,          CUT_BY_ONE,
                                       CUT_IN_HALF, FLIPPED_MIDDLE, BINARY};
    make_whole();
    renew_store();
    char *run = the_run();
    free(quern_out("resume --json %s steps=18", run));
    assert_int_equal(
        sh("cp %s/checkpoints/18/model.safetensors calm.safetensors", run), 0);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        damaged_last("model.safetensors", some[i]);
        damaged_last("state.safetensors", some[i]);
    }
    free(run);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, shell_setup, shell_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(a_damaged_last_checkpoint_gives_way_to_the_one_before),
        TEST(a_damaged_file_is_one_sentence_and_costs_no_other),
    };
    if (argc > 1) {
        (void)setenv("QN_STRIDE", argv[1], 1);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
