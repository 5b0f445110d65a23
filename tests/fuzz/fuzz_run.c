/* fuzz_run.c - no run's folder may crash who looks at it. The bytes are its
 * files, each behind a line "=== NAME"; weights and states of its checkpoints
 * are always the same, so that their sums can be right. */
#include "inputs.h"

#include "base/assert.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/checkpoint_steps.h"
#include "store/files.h"
#include "store/parent.h"
#include "train/code.h"
#include "train/compare.h"
#include "train/history.h"
#include "train/stats_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    "spec.json",
    "code.json",
    "parent.json",
    "metrics.jsonl",
    "events.jsonl",
    "stats.jsonl",
    "best",
    "last",
    "checkpoints/10/metric",
    "checkpoints/10/SHA256SUMS",
    "checkpoints/20/metric",
    "checkpoints/20/SHA256SUMS",
};
#define N_NAMES (sizeof names / sizeof *names)

/* A folder with two checkpoints and nothing else that counts; it stays, since
 * making it takes longer than all else. */
static void make_folder(const char *run)
{
    static const char *const files[] = {"model.safetensors",
                                        "state.safetensors"};
    static const char *const steps[] = {"10", "20"};
    struct qn_err err;
    for (size_t i = 0; i < 4; i++) {
        char *folder = qn_xasprintf("%s/checkpoints/%s", run, steps[i / 2]);
        char *path = qn_path_join(folder, files[i % 2]);
        QN_ASSERT(qn_make_dirs(folder, &err) == QN_OK);
        fuzz_write(path, files[i % 2], strlen(files[i % 2]));
        free(path);
        free(folder);
    }
}

static void write_one(const char *run, const char *name, size_t name_len,
                      const char *content, size_t len)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        if (strlen(names[i]) == name_len &&
            memcmp(names[i], name, name_len) == 0) {
            char *path = qn_path_join(run, names[i]);
            fuzz_write(path, content, len);
            free(path);
        }
    }
}

/* The next line that names a file, or the end. */
static const char *find_mark(const char *at, const char *end)
{
    while (at < end && !(end - at >= 4 && memcmp(at, "=== ", 4) == 0)) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
    }
    return at;
}

static void write_files(const char *run, const char *text, size_t len)
{
    const char *end = text + len;
    for (size_t i = 0; i < N_NAMES; i++) {
        char *path = qn_path_join(run, names[i]);
        (void)unlink(path);
        free(path);
    }
    for (const char *at = find_mark(text, end); at < end;) {
        const char *name = at + 4;
        const char *newline = memchr(name, '\n', (size_t)(end - name));
        if (newline == NULL) {
            return;
        }
        at = find_mark(newline + 1, end);
        write_one(run, name, (size_t)(newline - name), newline + 1,
                  (size_t)(at - newline - 1));
    }
}

static void check_status(enum qn_status status, struct qn_err *err)
{
    QN_ASSERT(status == QN_OK || err->text[0] != '\0');
    err->text[0] = '\0';
}

static void check_checkpoints(const char *run)
{
    static const char *const words[] = {"best", "last", "last_good", "20",
                                        "worst"};
    struct qn_err err = {{0}};
    char *folder;
    int64_t step;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        folder = NULL;
        enum qn_status status =
            qn_run_dir_find_checkpoint(run, words[i], &folder, &step, &err);
        QN_ASSERT(status != QN_OK || step == 10 || step == 20);
        check_status(status, &err);
        free(folder);
    }
    struct qn_err damage = {{0}};
    folder = NULL;
    check_status(qn_run_dir_find_whole(run, &folder, &step, &damage, &err),
                 &err);
    free(folder);
    struct qn_steps steps = {.n = 0};
    check_status(qn_steps_list(run, &steps, &err), &err);
    qn_steps_free(&steps);
}

static bool take_stats(void *user, const json_t *line)
{
    qn_stats_read(user, line, 0.1);
    return true;
}

static void check_lines(const char *run)
{
    struct qn_err err = {{0}};
    struct qn_stats_record *r = qn_xcalloc(1, sizeof *r);
    check_status(qn_run_dir_lines(run, QN_STATS, take_stats, r, &err), &err);
    check_status(qn_run_dir_tail(run, QN_STATS, 200, take_stats, r, &err),
                 &err);
    free(r);
}

static void check_records(const char *run)
{
    struct qn_err err = {{0}};
    struct qn_run_summary summary;
    struct qn_history history;
    struct qn_spec spec;
    struct qn_parent parent;
    struct qn_code code = {.backend = "ref"};
    check_status(qn_run_summarise(run, &summary, &err), &err);
    check_status(qn_history_spec(run, 10, &spec, NULL, &err), &err);
    check_status(qn_history_read(run, 10, &history, &err), &err);
    check_status(qn_parent_read(run, &parent, &err), &err);
    qn_code_notice(run, &code, NULL);
}

/* A run is never another one than it is. */
static void check_compare(const char *run)
{
    struct qn_err err = {{0}};
    struct qn_comparison c;
    enum qn_status status = qn_compare_runs(run, run, &c, &err);
    check_status(status, &err);
    if (status == QN_OK) {
        QN_ASSERT(c.first_step == -1);
        QN_ASSERT(c.weights_step == -1 || c.weights_same);
        qn_comparison_fini(&c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *run = fuzz_path("run");
    if (!qn_path_exists(run)) {
        make_folder(run);
    }
    write_files(run, len > 0 ? (const char *)bytes : "", len);
    check_checkpoints(run);
    check_lines(run);
    check_records(run);
    check_compare(run);
    free(run);
    return 0;
}
