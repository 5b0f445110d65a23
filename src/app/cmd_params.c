/* cmd_params.c - quern params: every tensor of a shape, and how many numbers.
 */
#include "app/commands.h"

#include "app/context.h"
#include "app/out.h"
#include "model/params.h"
#include "model/size.h"
#include "train/text.h"

#include <stdio.h>
#include <stdlib.h>

/* The size of the vocabulary: data.vocab_size, else the training text's. With
 * word vectors that are not trained no parameter depends on it. */
static enum qn_status count_symbols(const struct qn_context *c,
                                    const struct qn_spec *spec, int *vocab,
                                    struct qn_err *err)
{
    if (spec->data.vocab_size > 0) {
        *vocab = spec->data.vocab_size;
        return QN_OK;
    }
    if (spec->data.vectors[0] != '\0') {
        *vocab = 1;
        return QN_OK;
    }
    struct qn_corpus *corpus = NULL;
    enum qn_status status = qn_text_open(&c->env, spec, NULL, &corpus, err);
    if (status != QN_OK) {
        return qn_fail_in(err, status,
                          "the vocabulary is needed (data.vocab_size=N does "
                          "without the text)");
    }
    *vocab = qn_vocab_size(qn_corpus_vocab(corpus));
    qn_corpus_free(corpus);
    return QN_OK;
}

/* Numbers that 'all' counts and no tensor holds: initial states, of a
 * classifier. */
static size_t n_states(const struct qn_param_list *list)
{
    size_t sum = 0;
    for (int i = 0; i < list->n; i++) {
        sum = qn_size_add(sum, list->items[i].count);
    }
    return list->all - sum;
}

static void print_json(struct qn_out *out, const struct qn_param_list *list)
{
    struct qn_json j = {.comma = false};
    qn_json_object(&j);
    qn_json_kint(&j, "all", (int64_t)list->all);
    qn_json_kint(&j, "trainable", (int64_t)list->trainable);
    qn_json_kint(&j, "states", (int64_t)n_states(list));
    qn_json_key(&j, "tensors");
    qn_json_array(&j);
    for (int i = 0; i < list->n; i++) {
        const struct qn_param *p = &list->items[i];
        qn_json_object(&j);
        qn_json_kstring(&j, "name", p->name);
        qn_json_key(&j, "shape");
        qn_json_array(&j);
        for (int d = 0; d < p->n_dims; d++) {
            qn_json_int(&j, (int64_t)p->dim[d]);
        }
        qn_json_end_array(&j);
        qn_json_end_object(&j);
    }
    qn_json_end_array(&j);
    qn_json_end_object(&j);
    (void)qn_out_json(out, &j);
    qn_json_free(&j);
}

static void print_text(struct qn_out *out, const struct qn_param_list *list)
{
    for (int i = 0; i < list->n; i++) {
        const struct qn_param *p = &list->items[i];
        struct qn_str shape = {0};
        for (int d = 0; d < p->n_dims; d++) {
            qn_str_addf(&shape, "%s%zu", d > 0 ? " x " : "", p->dim[d]);
        }
        (void)qn_out_linef(out, "%-24s %-20s %12zu", p->name, shape.text,
                           p->count);
        qn_str_free(&shape);
    }
    if (n_states(list) > 0) {
        (void)qn_out_linef(out, "%-45s %12zu",
                           "initial states, which stay zeros", n_states(list));
    }
    (void)qn_out_linef(out, "%-45s %12zu", "all, as the paper counts",
                       list->all);
    (void)qn_out_linef(out, "%-45s %12zu", "trainable", list->trainable);
}

/* Spec and size of the vocabulary of the run that words[0] names. */
static enum qn_status take_run(const struct qn_context *c,
                               const struct qn_args *args, struct qn_spec *spec,
                               int *vocab, struct qn_err *err)
{
    char *path = NULL;
    struct qn_vocab *symbols = NULL;
    if (args->option[QN_OPT_PRESET] != NULL) {
        return qn_fail(err, QN_EUSAGE,
                       "params takes a run or a preset, not both");
    }
    enum qn_status status = qn_context_run(c, args, &path, err);
    if (status == QN_OK) {
        status = qn_context_run_spec(path, args, spec, err);
    }
    if (status == QN_OK) {
        status = qn_text_vocab(path, spec, &symbols, err);
    }
    if (status == QN_OK) {
        *vocab = qn_vocab_size(symbols);
    }
    qn_vocab_free(symbols);
    free(path);
    return status;
}

static enum qn_status take_settings(const struct qn_context *c,
                                    const struct qn_args *args,
                                    struct qn_spec *spec, int *vocab,
                                    struct qn_err *err)
{
    enum qn_status status = qn_context_shape(args, spec, err);
    return status == QN_OK ? count_symbols(c, spec, vocab, err) : status;
}

int qn_cmd_params(const struct qn_args *args)
{
    struct qn_err err;
    struct qn_spec spec;
    struct qn_context c;
    int vocab = 0;
    struct qn_out out = {.failed = false};
    qn_context_init(&c, args);
    enum qn_status status = args->n_words > 0
                                ? take_run(&c, args, &spec, &vocab, &err)
                                : take_settings(&c, args, &spec, &vocab, &err);
    int result = status == QN_OK ? QN_EXIT_OK : qn_give_up(status, &err);
    if (status == QN_OK) {
        struct qn_param_list list;
        qn_param_list_init(&list, &spec, vocab);
        if (args->option[QN_OPT_JSON] != NULL) {
            print_json(&out, &list);
        } else {
            print_text(&out, &list);
        }
        qn_param_list_fini(&list);
    }
    qn_context_fini(&c);
    return qn_out_close(&out, result);
}
