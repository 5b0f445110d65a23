/* state.c - state.safetensors: what training needs beside the weights. */
#include "train/state.h"

#include "base/mem.h"
#include "base/safetensors.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* The counters in the file: one tensor of one element each. */
struct field {
    const char *name;
    enum qn_dtype dtype;
    size_t offset; /* in struct qn_progress */
    bool optional; /* left out when it is NaN */
};

#define COUNT(name, member)                                                    \
    {                                                                          \
        name, QN_I64, offsetof(struct qn_progress, member), false              \
    }
#define LOSS(name, member)                                                     \
    {                                                                          \
        name, QN_F64, offsetof(struct qn_progress, member), false              \
    }
#define ACCURACY(name, member)                                                 \
    {                                                                          \
        name, QN_F64, offsetof(struct qn_progress, member), true               \
    }

static const struct field fields[] = {
    COUNT("step", step),
    COUNT("updates", updates),
    COUNT("epoch", epoch),
    COUNT("segment", segment),
    COUNT("evals", evals),
    COUNT("eval.step", eval_step),
    LOSS("eval.loss", eval_loss),
    ACCURACY("eval.accuracy", eval_accuracy),
    COUNT("best.step", best_step),
    LOSS("best.loss", best_loss),
    ACCURACY("best.accuracy", best_accuracy),
    ACCURACY("usual.loss", usual_loss),
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

/* Host copies of what lives on the backend, and their tensors in the file: the
 * two moments, empty where the rule has none, and the carried state. */
enum { MOMENT_M, MOMENT_V, CARRIED, N_ARRAYS };
static const char *const array_names[N_ARRAYS] = {
    [MOMENT_M] = "optim.m",
    [MOMENT_V] = "optim.v",
    [CARRIED] = "carried",
};

struct arrays {
    float *data[N_ARRAYS];
    size_t n[N_ARRAYS];
};

struct qn_progress qn_progress_zero(void)
{
    return (struct qn_progress){
        .eval_step = -1,
        .eval_loss = (double)NAN,
        .eval_accuracy = (double)NAN,
        .best_step = -1,
        .best_loss = (double)NAN,
        .best_accuracy = (double)NAN,
        .usual_loss = (double)NAN,
    };
}

static void arrays_fini(struct arrays *a)
{
    for (int i = 0; i < N_ARRAYS; i++) {
        free(a->data[i]);
    }
    *a = (struct arrays){0};
}

static enum qn_status arrays_init(struct arrays *a,
                                  const struct qn_optim *optim,
                                  const struct qn_pass *pass,
                                  struct qn_err *err)
{
    double floats = 0;
    bool ok = true;
    *a = (struct arrays){
        .n = {optim->m.count, optim->v.count, qn_pass_state_len(pass)}};
    for (int i = 0; i < N_ARRAYS; i++) {
        a->data[i] = qn_try_big(a->n[i] + 1, sizeof *a->data[i]);
        ok = ok && a->data[i] != NULL;
        floats += (double)a->n[i];
    }
    if (ok) {
        return QN_OK;
    }
    arrays_fini(a);
    char size[32];
    qn_format_bytes(size, sizeof size, floats * sizeof(float));
    return qn_fail(err, QN_ENOMEM, "no memory to copy the training state: %s",
                   size);
}

static struct qn_st_tensor floats_tensor(const char *name, const float *data,
                                         size_t n)
{
    return (struct qn_st_tensor){
        .name = name, .dtype = QN_F32, .n_dims = 1, .dim = {n}, .data = data};
}

/* NaN has many bit patterns; in the file "none yet" is always the same one. */
static double one_nan(double v)
{
    return isnan(v) ? (double)NAN : v;
}

static bool is_left_out(const struct field *field, const struct qn_progress *p)
{
    const void *value = (const char *)p + field->offset;
    return field->optional && isnan(*(const double *)value);
}

static enum qn_status write_file(const char *path, const struct qn_progress *at,
                                 const struct arrays *a, struct qn_err *err)
{
    struct qn_progress p = *at;
    p.eval_loss = one_nan(p.eval_loss);
    p.best_loss = one_nan(p.best_loss);
    struct qn_st_tensor tensors[N_FIELDS + N_ARRAYS];
    size_t n = 0;
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (is_left_out(&fields[i], &p)) {
            continue;
        }
        tensors[n++] = (struct qn_st_tensor){
            .name = fields[i].name,
            .dtype = fields[i].dtype,
            .n_dims = 1,
            .dim = {1},
            .data = (const char *)&p + fields[i].offset,
        };
    }
    for (int i = 0; i < N_ARRAYS; i++) {
        if (a->n[i] > 0 || i == CARRIED) {
            tensors[n++] = floats_tensor(array_names[i], a->data[i], a->n[i]);
        }
    }
    return qn_st_write(path, tensors, n, NULL, 0, err);
}

/* What a state.safetensors holds, on the host. */
struct qn_state_copy {
    struct qn_progress at;
    struct arrays arrays;
};

enum qn_status qn_state_copy_new(const struct qn_optim *optim,
                                 const struct qn_pass *pass,
                                 struct qn_state_copy **out, struct qn_err *err)
{
    struct qn_state_copy *c = qn_xcalloc(1, sizeof *c);
    enum qn_status status = arrays_init(&c->arrays, optim, pass, err);
    if (status != QN_OK) {
        free(c);
        return status;
    }
    *out = c;
    return QN_OK;
}

void qn_state_copy_free(struct qn_state_copy *c)
{
    if (c == NULL) {
        return;
    }
    arrays_fini(&c->arrays);
    free(c);
}

enum qn_status qn_state_copy_take(struct qn_state_copy *c,
                                  const struct qn_progress *at,
                                  const struct qn_optim *optim,
                                  struct qn_pass *pass, struct qn_err *err)
{
    float *const *data = c->arrays.data;
    c->at = *at;
    enum qn_status status =
        qn_optim_read(optim, data[MOMENT_M], data[MOMENT_V], err);
    return status == QN_OK ? qn_pass_read_state(pass, data[CARRIED], err)
                           : status;
}

enum qn_status qn_state_copy_write(const struct qn_state_copy *c,
                                   const char *path, struct qn_err *err)
{
    return write_file(path, &c->at, &c->arrays, err);
}

enum qn_status qn_state_save(const char *path, const struct qn_progress *at,
                             const struct qn_optim *optim, struct qn_pass *pass,
                             struct qn_err *err)
{
    struct qn_state_copy *c;
    enum qn_status status = qn_state_copy_new(optim, pass, &c, err);
    if (status != QN_OK) {
        return status;
    }
    status = qn_state_copy_take(c, at, optim, pass, err);
    if (status == QN_OK) {
        status = qn_state_copy_write(c, path, err);
    }
    qn_state_copy_free(c);
    return status;
}

/* The tensor of this name with n elements. */
static enum qn_status find(const struct qn_st_file *f, const char *path,
                           const char *name, size_t n,
                           const struct qn_st_tensor **out, struct qn_err *err)
{
    const struct qn_st_tensor *t = qn_st_find(f, name);
    if (t == NULL) {
        return qn_fail(err, QN_EFORMAT, "%s: %s is missing", path, name);
    }
    if (qn_st_count(t) != n) {
        return qn_fail(err, QN_EFORMAT,
                       "%s: %s has %zu values, this run needs %zu", path, name,
                       qn_st_count(t), n);
    }
    *out = t;
    return QN_OK;
}

/* The values of a tensor as floats: as the file has them, or converted into
 * *made, which the caller frees. */
static enum qn_status read_floats(const struct qn_st_file *f, const char *path,
                                  const char *name, size_t n, float **made,
                                  const float **out, struct qn_err *err)
{
    const struct qn_st_tensor *t;
    enum qn_status status = find(f, path, name, n, &t, err);
    if (status != QN_OK) {
        return status;
    }
    *out = t->data;
    if (t->dtype == QN_F32) {
        return QN_OK;
    }
    *made = qn_try_big(n + 1, sizeof **made);
    if (*made == NULL) {
        return qn_fail(err, QN_ENOMEM, "%s: no memory to convert %s", path,
                       name);
    }
    for (size_t i = 0; i < n; i++) {
        (*made)[i] = (float)qn_st_value(t, i);
    }
    *out = *made;
    return QN_OK;
}

/* Counters beyond this are damage; so far doubles hold every whole number. */
#define MOST_COUNTED 9007199254740992.0

static enum qn_status read_field(const struct qn_st_file *f, const char *path,
                                 const struct field *field,
                                 struct qn_progress *p, struct qn_err *err)
{
    const struct qn_st_tensor *t;
    if (field->optional && qn_st_find(f, field->name) == NULL) {
        return QN_OK; /* as p has it: NaN */
    }
    enum qn_status status = find(f, path, field->name, 1, &t, err);
    if (status != QN_OK) {
        return status;
    }
    void *to = (char *)p + field->offset;
    double value = qn_st_value(t, 0);
    if (field->dtype == QN_F64) {
        *(double *)to = value;
        return QN_OK;
    }
    if (!(value >= -1 && value <= MOST_COUNTED)) {
        return qn_fail(err, QN_EFORMAT, "%s: %s is %g, which is no count", path,
                       field->name, value);
    }
    *(int64_t *)to = (int64_t)value;
    return QN_OK;
}

static enum qn_status read_fields(const struct qn_st_file *f, const char *path,
                                  struct qn_progress *p, struct qn_err *err)
{
    for (size_t i = 0; i < N_FIELDS; i++) {
        enum qn_status status = read_field(f, path, &fields[i], p, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (p->step < 0 || p->updates < 0 || p->segment < 0 || p->epoch < 0) {
        return qn_fail(err, QN_EFORMAT, "%s: a counter is negative", path);
    }
    return QN_OK;
}

/* A moment that this run's rule does not keep belongs to another rule. */
static enum qn_status refuse_other_moment(const struct qn_st_file *f,
                                          const char *path, const char *name,
                                          struct qn_err *err)
{
    if (qn_st_find(f, name) == NULL) {
        return QN_OK;
    }
    return qn_fail(err, QN_EFORMAT,
                   "%s: %s is there, which this run's optim.kind does not keep",
                   path, name);
}

/* Arrays of a file that is open. */
struct loaded {
    const float *data[N_ARRAYS];
    float *made[N_ARRAYS]; /* those that were converted, owned */
};

static enum qn_status read_arrays(const struct qn_st_file *f, const char *path,
                                  const size_t n[N_ARRAYS], struct loaded *l,
                                  struct qn_err *err)
{
    enum qn_status status = QN_OK;
    for (int i = 0; i < N_ARRAYS && status == QN_OK; i++) {
        const char *name = array_names[i];
        status = n[i] > 0 || i == CARRIED
                     ? read_floats(f, path, name, n[i], &l->made[i],
                                   &l->data[i], err)
                     : refuse_other_moment(f, path, name, err);
    }
    return status;
}

enum qn_status qn_state_load(const char *path, struct qn_progress *at,
                             struct qn_optim *optim, struct qn_pass *pass,
                             struct qn_err *err)
{
    const size_t n[N_ARRAYS] = {
        [MOMENT_M] = optim->m.count,
        [MOMENT_V] = optim->v.count,
        [CARRIED] = qn_pass_state_len(pass),
    };
    struct qn_st_file *f = NULL;
    struct loaded l = {.data = {NULL}};
    struct qn_progress p = qn_progress_zero();
    enum qn_status status = qn_st_open(path, &f, err);
    if (status == QN_OK) {
        status = read_fields(f, path, &p, err);
    }
    if (status == QN_OK) {
        status = read_arrays(f, path, n, &l, err);
    }
    if (status == QN_OK) {
        qn_optim_write(optim, l.data[MOMENT_M], l.data[MOMENT_V]);
        qn_pass_write_state(pass, l.data[CARRIED]);
        *at = p;
    }
    for (int i = 0; i < N_ARRAYS; i++) {
        free(l.made[i]);
    }
    qn_st_close(f);
    return status;
}
