/* world.c - what tests of a corpus share: a folder, texts in it, opening. */
#include "world.h"

#include "../base/scratch.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

int make_world(void **state)
{
    struct world *w = qn_xcalloc(1, sizeof *w);
    *state = w;
    (void)unsetenv("QUERN_DATA");
    int failed = make_scratch(&w->folder);
    return failed != 0 ? failed : setenv("XDG_DATA_HOME", w->folder, 1);
}

int end_world(void **state)
{
    struct world *w = *state;
    int failed = remove_scratch(&w->folder);
    free(w);
    return failed;
}

char *in(const struct world *w, const char *name)
{
    return qn_path_join(w->folder, name);
}

char *put(const struct world *w, const char *name, const char *text)
{
    char *path = in(w, name);
    assert_int_equal(qn_file_write(path, text, strlen(text), NULL), QN_OK);
    return path;
}

char *put_gz(const struct world *w, const char *name, const char *text)
{
    char *path = in(w, name);
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static void hear(void *user, enum qn_log_level level, const char *line)
{
    struct world *w = user;
    (void)level;
    w->n_heard++;
    (void)snprintf(w->heard, sizeof w->heard, "%s", line);
}

static enum qn_status try_open(struct world *w,
                               const struct qn_corpus_spec *spec,
                               struct qn_corpus **c, struct qn_err *err)
{
    struct qn_log *log = qn_log_new(hear, w);
    enum qn_status status = qn_corpus_open(spec, log, c, err);
    qn_log_free(log);
    return status;
}

struct qn_corpus *opened(struct world *w, struct qn_corpus_spec spec)
{
    struct qn_corpus *c = NULL;
    struct qn_err err = {""};
    if (try_open(w, &spec, &c, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    return c;
}

void check_refused(struct world *w, struct qn_corpus_spec spec,
                   enum qn_status status, const char *sentence)
{
    struct qn_corpus *c = NULL;
    struct qn_err err = {""};
    assert_int_equal(try_open(w, &spec, &c, &err), status);
    assert_string_equal(err.text, sentence);
    assert_null(c);
}

void check_text(const struct qn_corpus *c, enum qn_split split,
                const char *text)
{
    size_t n;
    const int32_t *ids = qn_corpus_ids(c, split, &n);
    struct qn_str out = {0};
    qn_str_add(&out, "");
    qn_vocab_decode(qn_corpus_vocab(c), ids, n, &out);
    assert_string_equal(out.text != NULL ? out.text : "", text);
    qn_str_free(&out);
}

void check_bad_text(struct world *w, struct qn_corpus_spec spec,
                    const char *text, const char *sentence)
{
    char *path = put(w, "bad", text);
    char *whole = qn_xasprintf("%s: %s", path, sentence);
    spec.path[QN_TRAIN] = path;
    check_refused(w, spec, QN_EFORMAT, whole);
    free(whole);
    free(path);
}

void check_sizes(const struct qn_corpus *c, size_t train, size_t valid,
                 size_t test)
{
    const size_t expected[] = {train, valid, test};
    for (int i = 0; i < QN_N_SPLITS; i++) {
        size_t n;
        (void)qn_corpus_ids(c, (enum qn_split)i, &n);
        assert_int_equal(n, expected[i]);
    }
}
