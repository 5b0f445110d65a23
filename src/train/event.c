/* event.c - the two readings of a loss that people compare. */
#include "train/event.h"

#include <math.h>

double qn_bpc(double loss)
{
    return loss / log(2.0);
}

double qn_perplexity(double loss)
{
    return exp(loss);
}
