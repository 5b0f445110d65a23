/* cpu.c - the cpu backend's table of operations and its workspace. */
#include "backend/cpu/cpu.h"

#include "backend/cpu/gemm.h"
#include "base/mem.h"

#include <stdlib.h>

static void cpu_free(struct qn_backend *be)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    free(cpu->work);
    qn_host_fini(&cpu->host);
    free(cpu);
}

static bool cpu_reserve(struct qn_backend *be, size_t bytes)
{
    struct qn_cpu *cpu = (struct qn_cpu *)be;
    bool there = bytes == 0 || qn_cpu_work(cpu, bytes / sizeof(float)) != NULL;
    if (!there)
        cpu->host.missing = 0.0; /* it is told here */
    return there;
}

static const struct qn_backend_ops cpu_ops = {
    .name = "cpu",
    .free = cpu_free,
    .alloc = qn_host_alloc,
    .release = qn_host_release,
    .reserve = cpu_reserve,
    .write = qn_host_write,
    .read = qn_host_read,
    .fill = qn_host_fill,
    .copy = qn_host_copy,
    .combine = qn_host_combine,
    .fill_seq = qn_host_fill_seq,
    .copy_seq = qn_host_copy_seq,
    .shift_history = qn_host_shift_history,
    .zero_history = qn_host_zero_history,
    .take_rows = qn_host_take_rows,
    .put_rows = qn_host_put_rows,
    .embed = qn_cpu_embed,
    .embed_grad = qn_cpu_embed_grad,
    .qrnn = qn_cpu_qrnn,
    .qrnn_grad = qn_cpu_qrnn_grad,
    .qrnn_workspace = qn_cpu_qrnn_workspace,
    .lstm = qn_cpu_lstm,
    .lstm_grad = qn_cpu_lstm_grad,
    .lstm_workspace = qn_cpu_lstm_workspace,
    .linear = qn_cpu_linear,
    .linear_grad = qn_cpu_linear_grad,
    .linear_workspace = qn_cpu_linear_workspace,
    .softmax_xent = qn_cpu_softmax_xent,
    .sigmoid_xent = qn_host_sigmoid_xent,
    .step_begin = qn_host_step_begin,
    .grad_norm = qn_cpu_grad_norm,
    .update = qn_cpu_update,
    .step_end = qn_host_step_end,
    .count = qn_host_count,
    .count_qrnn = qn_host_count_qrnn,
    .count_lstm = qn_host_count_lstm,
};

struct qn_backend *qn_cpu_new(struct qn_pool *pool, int slices)
{
    struct qn_cpu *cpu = qn_xcalloc(1, sizeof *cpu);
    qn_host_init(&cpu->host, &cpu_ops, pool, slices);
    cpu->kernels = qn_kernels_best();
    qn_gemm_one_thread();
    return &cpu->host.base;
}

float *qn_cpu_work(struct qn_cpu *cpu, size_t count)
{
    if (count <= cpu->work_count)
        return cpu->work;
    free(cpu->work);
    cpu->work = qn_try_big(count, sizeof *cpu->work);
    cpu->work_count = cpu->work ? count : 0;
    if (!cpu->work)
        cpu->host.missing = (double)count * sizeof *cpu->work;
    return cpu->work;
}
