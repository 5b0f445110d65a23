/* metrics_cache.c - what the first bytes of metrics.jsonl say, in binary.
 *
 * All of it is 64-bit words, the least byte first: a header, the steps, the
 * evaluations, and a hash of all the words before it. Each word goes into the
 * hash by a bijection, so that no change within one word leaves it as it was.
 */
#include "train/metrics_cache.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define NAME "metrics.cache"
#define MAGIC 0x0a6368634d4e5189u /* "\x89QNMchc\n" */
#define VERSION 1u
#define SEED 0x9e3779b97f4a7c15u

#define WORD sizeof(uint64_t)
#define N_HEADER 9u /* words */
#define N_STEP 9u
#define N_EVAL 8u

/* Of metrics.jsonl, at either end. */
#define SAMPLE 4096u

static uint64_t hash_word(uint64_t h, uint64_t word)
{
    return qn_mix64(h ^ word) + SEED;
}

static uint64_t load(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;
    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
           (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 |
           (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static void store(char *at, uint64_t word)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (char)(word >> 8 * i & 0xff);
    }
}

static double to_double(uint64_t word)
{
    double v;
    memcpy(&v, &word, sizeof v);
    return v;
}

static uint64_t of_double(double v)
{
    uint64_t word;
    memcpy(&word, &v, sizeof word);
    return word;
}

/* Bytes as words, the last filled up with zeros, and how many they are. */
static uint64_t hash_bytes(const char *bytes, size_t len)
{
    uint64_t h = hash_word(SEED, len);
    char last[WORD] = {0};
    size_t at = 0;
    for (; len - at >= WORD; at += WORD) {
        h = hash_word(h, load(bytes + at));
    }
    memcpy(last, bytes + at, len - at);
    return hash_word(h, load(last));
}

static void get_step(struct qn_step_record *r, const char *at)
{
    r->step = (int64_t)load(at);
    r->segment = (int)load(at + WORD);
    double *const number[] = {&r->epoch,  &r->loss,      &r->accuracy,
                              &r->lr,     &r->grad_norm, &r->tokens_per_s,
                              &r->seconds};
    for (size_t i = 0; i < 7; i++) {
        *number[i] = to_double(load(at + (2 + i) * WORD));
    }
}

static void put_step(char *at, const struct qn_step_record *r)
{
    const double number[] = {r->epoch,     r->loss,         r->accuracy, r->lr,
                             r->grad_norm, r->tokens_per_s, r->seconds};
    store(at, (uint64_t)r->step);
    store(at + WORD, (uint64_t)r->segment);
    for (size_t i = 0; i < 7; i++) {
        store(at + (2 + i) * WORD, of_double(number[i]));
    }
}

static void get_eval(struct qn_eval_record *r, const char *at)
{
    r->step = (int64_t)load(at);
    r->e.split = (enum qn_split)load(at + WORD);
    r->e.reading = (enum qn_reading)load(at + 2 * WORD);
    r->e.predictions = (int64_t)load(at + 3 * WORD);
    r->e.loss = to_double(load(at + 4 * WORD));
    r->e.accuracy = to_double(load(at + 5 * WORD));
    r->e.seconds = to_double(load(at + 6 * WORD));
    r->value = to_double(load(at + 7 * WORD));
}

static void put_eval(char *at, const struct qn_eval_record *r)
{
    store(at, (uint64_t)r->step);
    store(at + WORD, (uint64_t)r->e.split);
    store(at + 2 * WORD, (uint64_t)r->e.reading);
    store(at + 3 * WORD, (uint64_t)r->e.predictions);
    store(at + 4 * WORD, of_double(r->e.loss));
    store(at + 5 * WORD, of_double(r->e.accuracy));
    store(at + 6 * WORD, of_double(r->e.seconds));
    store(at + 7 * WORD, of_double(r->value));
}

/* Whether these words are as put_step and put_eval write them. */
static bool fits_step(const char *at)
{
    uint64_t segment = load(at + WORD);
    return segment >= 1 && segment <= INT_MAX;
}

static bool fits_eval(const char *at)
{
    return load(at + WORD) < QN_N_SPLITS &&
           load(at + 2 * WORD) <= QN_READ_ACCURACY;
}

/* The words of a cache, once their number and hash are as they should be. */
struct layout {
    uint64_t n_steps, n_evals;
    const char *steps, *evals;
};

static bool find_parts(const char *bytes, size_t len, struct layout *l)
{
    size_t n_words = len / WORD;
    if (len % WORD != 0 || n_words < N_HEADER + 1 || load(bytes) != MAGIC ||
        load(bytes + WORD) != VERSION) {
        return false;
    }
    size_t left = n_words - N_HEADER - 1;
    l->n_steps = load(bytes + 7 * WORD);
    l->n_evals = load(bytes + 8 * WORD);
    if (l->n_steps > left / N_STEP || l->n_evals > left / N_EVAL ||
        l->n_steps * N_STEP + l->n_evals * N_EVAL != left) {
        return false;
    }
    l->steps = bytes + N_HEADER * WORD;
    l->evals = l->steps + l->n_steps * N_STEP * WORD;
    return hash_bytes(bytes, len - WORD) == load(bytes + len - WORD);
}

static bool all_fit(const struct layout *l)
{
    for (size_t i = 0; i < l->n_steps; i++) {
        if (!fits_step(l->steps + i * N_STEP * WORD)) {
            return false;
        }
    }
    for (size_t i = 0; i < l->n_evals; i++) {
        if (!fits_eval(l->evals + i * N_EVAL * WORD)) {
            return false;
        }
    }
    return true;
}

bool qn_metrics_cache_parse(const char *bytes, size_t len,
                            struct qn_metrics_prefix *prefix,
                            struct qn_metrics *m)
{
    struct layout l;
    if (!find_parts(bytes, len, &l) || !all_fit(&l)) {
        return false;
    }
    *m = (struct qn_metrics){.n_steps = l.n_steps, .n_evals = l.n_evals};
    m->step = qn_xcalloc(l.n_steps, sizeof *m->step);
    m->eval = qn_xcalloc(l.n_evals, sizeof *m->eval);
    for (size_t i = 0; i < l.n_steps; i++) {
        get_step(&m->step[i], l.steps + i * N_STEP * WORD);
    }
    for (size_t i = 0; i < l.n_evals; i++) {
        get_eval(&m->eval[i], l.evals + i * N_EVAL * WORD);
    }
    *prefix = (struct qn_metrics_prefix){
        .len = load(bytes + 2 * WORD),
        .lines = load(bytes + 3 * WORD),
        .segments = load(bytes + 4 * WORD),
        .head = load(bytes + 5 * WORD),
        .tail = load(bytes + 6 * WORD),
    };
    return true;
}

/* The hash of some bytes of a file, from 'at' on. */
static bool hash_part(int fd, uint64_t at, size_t len, uint64_t *out)
{
    char bytes[SAMPLE];
    if (pread(fd, bytes, len, (off_t)at) != (ssize_t)len) {
        return false;
    }
    *out = hash_bytes(bytes, len);
    return true;
}

/* Both hashes of the first 'len' bytes of a file; false when it has fewer. */
static bool hash_ends(int fd, uint64_t len, uint64_t *head, uint64_t *tail)
{
    struct stat st;
    size_t n = len < SAMPLE ? (size_t)len : SAMPLE;
    return fstat(fd, &st) == 0 && len <= (uint64_t)st.st_size &&
           hash_part(fd, 0, n, head) && hash_part(fd, len - n, n, tail);
}

bool qn_metrics_cache_load(const char *run_path, int fd,
                           struct qn_metrics_prefix *prefix,
                           struct qn_metrics *m)
{
    char *path = qn_path_join(run_path, NAME);
    struct qn_bytes bytes = {0};
    uint64_t head, tail;
    bool is = qn_file_read(path, &bytes, NULL) == QN_OK &&
              qn_metrics_cache_parse(bytes.data, bytes.len, prefix, m);
    qn_bytes_free(&bytes);
    free(path);
    if (is && !(hash_ends(fd, prefix->len, &head, &tail) &&
                head == prefix->head && tail == prefix->tail)) {
        qn_metrics_free(m);
        is = false;
    }
    return is;
}

/* A cache that is being written, and the hash of its words so far. */
struct writer {
    struct qn_new_file *file;
    uint64_t hash;
};

static void put_words(struct writer *w, const char *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        w->hash = hash_word(w->hash, load(words + i * WORD));
    }
    qn_new_file_add(w->file, words, n * WORD);
}

static size_t cache_size(const struct qn_metrics *m)
{
    return (N_HEADER + m->n_steps * N_STEP + m->n_evals * N_EVAL + 1) * WORD;
}

static void put_header(struct writer *w, const struct qn_metrics_prefix *p,
                       const struct qn_metrics *m)
{
    const uint64_t header[N_HEADER] = {MAGIC,    VERSION,     p->len,
                                       p->lines, p->segments, p->head,
                                       p->tail,  m->n_steps,  m->n_evals};
    char bytes[N_HEADER * WORD];
    for (size_t i = 0; i < N_HEADER; i++) {
        store(bytes + i * WORD, header[i]);
    }
    put_words(w, bytes, N_HEADER);
}

/* As hash_bytes makes it of all that stands before. */
static void put_hash(struct writer *w)
{
    char bytes[WORD];
    store(bytes, hash_word(w->hash, 0));
    qn_new_file_add(w->file, bytes, sizeof bytes);
}

static void put_all(struct writer *w, const struct qn_metrics_prefix *p,
                    const struct qn_metrics *m)
{
    char bytes[N_STEP * WORD];
    put_header(w, p, m);
    for (size_t i = 0; i < m->n_steps; i++) {
        put_step(bytes, &m->step[i]);
        put_words(w, bytes, N_STEP);
    }
    for (size_t i = 0; i < m->n_evals; i++) {
        put_eval(bytes, &m->eval[i]);
        put_words(w, bytes, N_EVAL);
    }
    put_hash(w);
}

/* A cache must not be what fills the disk under a run. */
static bool has_room(const char *folder, size_t size)
{
    struct statvfs v;
    return statvfs(folder, &v) == 0 &&
           (double)v.f_bavail * (double)v.f_frsize > 8 * (double)size;
}

void qn_metrics_cache_save(const char *run_path, int fd,
                           struct qn_metrics_prefix prefix,
                           const struct qn_metrics *m)
{
    size_t size = cache_size(m);
    struct writer w = {.hash = hash_word(SEED, size - WORD)};
    char *path = qn_path_join(run_path, NAME);
    if (has_room(run_path, size) &&
        hash_ends(fd, prefix.len, &prefix.head, &prefix.tail) &&
        qn_new_file_open(path, &w.file, NULL) == QN_OK) {
        put_all(&w, &prefix, m);
        (void)qn_new_file_commit(w.file, NULL); /* or there is none */
        qn_new_file_close(w.file);
    }
    free(path);
}
