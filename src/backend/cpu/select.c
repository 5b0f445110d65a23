/* select.c - which of the compiled kernel tables this processor can run. */
#include "backend/cpu/kernels.h"

#ifdef QN_KERNELS_X86
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* Each set includes the ones before it. */
const struct qn_kernels *qn_kernels_at(int i)
{
    if (i == 0)
        return &qn_kernels_base;
#ifdef QN_KERNELS_X86
    if (i == 1 && has_avx2())
        return &qn_kernels_avx2;
    if (i == 2 && has_avx512())
        return &qn_kernels_avx512;
#endif
    return NULL;
}

const struct qn_kernels *qn_kernels_best(void)
{
    int i = 0;
    while (qn_kernels_at(i + 1))
        i++;
    return qn_kernels_at(i);
}
