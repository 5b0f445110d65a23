/* lstm_pack.c - the weights of an LSTM layer, packed for all steps of a way. */
#include "backend/cpu/lstm.h"

/* B of the products with packed weights. */
static struct qn_panels panels_of(const struct qn_lstm_job *job, size_t k,
                                  size_t n)
{
    struct qn_panels packed = {
        .kernels = job->kernels, .k = (int)k, .n = (int)n};
    return packed;
}

static struct qn_panels forward_panels(const struct qn_lstm_job *job)
{
    return panels_of(job, job->packs_input ? job->terms : job->hidden,
                     job->outputs);
}

static size_t panels_work(struct qn_panels panels)
{
    return qn_lines(qn_panels_size(&panels));
}

/* Of the way that takes more: they have other padding. */
size_t qn_lstm_packed_work(const struct qn_lstm_job *job)
{
    size_t in = (size_t)job->layer->x.width;
    if (!job->packs)
        return 0;
    size_t forward = panels_work(forward_panels(job));
    size_t back = panels_work(panels_of(job, job->outputs, job->hidden));
    if (job->packs_input)
        back += panels_work(panels_of(job, job->outputs, in));
    return forward > back ? forward : back;
}

static void pack_forward(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    int hidden = (int)job->hidden;
    int in = job->layer->x.width;
    qn_panels_fill(&job->forward, 0, hidden, qn_floats(job->layer->weight_hh),
                   job->hidden, true, slice, job->batch.slices);
    if (job->packs_input)
        qn_panels_fill(&job->forward, hidden, in, job->product.weight,
                       (size_t)in, true, slice, job->batch.slices);
}

static void pack_back(void *arg, int slice)
{
    const struct qn_lstm_job *job = arg;
    int outputs = (int)job->outputs;
    size_t in = (size_t)job->layer->x.width;
    qn_panels_fill(&job->to_h, 0, outputs, qn_floats(job->layer->weight_hh),
                   job->hidden, false, slice, job->batch.slices);
    size_t skipped = in - (size_t)job->to_x.n;
    if (job->to_x.data)
        qn_panels_fill(&job->to_x, 0, outputs, job->product.weight + skipped,
                       in, false, slice, job->batch.slices);
}

static void open_back(struct qn_lstm_job *job, float *work)
{
    const struct qn_seq *d_x = &job->grad->d_x;
    job->to_h = panels_of(job, job->outputs, job->hidden);
    job->to_h.data = work;
    if (!job->packs_input || !d_x->buffer)
        return;
    job->to_x = panels_of(job, job->outputs, (size_t)d_x->width);
    job->to_x.data = work + panels_work(job->to_h);
}

void qn_lstm_pack(struct qn_pool *pool, struct qn_lstm_job *job)
{
    float *work = qn_lstm_packed(job);
    if (!job->packs)
        return;
    if (job->grad) {
        open_back(job, work);
    } else {
        job->forward = forward_panels(job);
        job->forward.data = work;
    }
    qn_pool_run(pool, job->batch.slices, job->grad ? pack_back : pack_forward,
                job);
}
