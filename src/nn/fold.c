/* fold.c - "1 of 5", read and written. */
#include "nn/fold.h"

#include <string.h>

#define USUAL_FOLDS 5 /* as the paper's authors cut IMDb */
#define MOST_FOLDS 1000

/* A number of at most MOST_FOLDS at *at, which moves behind it; 0 = none. */
static int read_number(const char **at)
{
    int v = 0;
    for (; **at >= '0' && **at <= '9' && v <= MOST_FOLDS; (*at)++) {
        v = v * 10 + (**at - '0');
    }
    return v <= MOST_FOLDS ? v : 0;
}

bool qn_fold_parse(const char *text, struct qn_fold *out, const char **why)
{
    static const char of[] = " of ";
    const char *at = text;
    struct qn_fold fold = {.k = read_number(&at), .n = USUAL_FOLDS};
    if (strncmp(at, of, strlen(of)) == 0) {
        at += strlen(of);
        fold.n = read_number(&at);
    }
    if (*at != '\0' || fold.n < 2 || fold.k < 1 || fold.k > fold.n) {
        *why = "a part such as \"1 of 5\"";
        return false;
    }
    *out = fold;
    return true;
}

void qn_fold_text(struct qn_fold fold, struct qn_str *out)
{
    if (fold.n == 0) {
        qn_str_add(out, "none");
        return;
    }
    qn_str_addf(out, "%d of %d", fold.k, fold.n);
}
