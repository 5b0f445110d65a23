/* palette.c - the colours of a heat map. */
#include "export/palette.h"

#include <math.h>

/* At equal distances from 0 to 1: CIE L* is 100, 82, 64, 46, 28, 10, and the
 * hue goes from yellow to blue, the two that colour blindness leaves. */
static const uint32_t anchors[] = {0xffffff, 0xe2ca8c, 0xb2995a,
                                   0x736c60, 0x354261, 0x0b1d3c};

static uint32_t between(uint32_t from, uint32_t to, double part, int shift)
{
    double a = from >> shift & 255, b = to >> shift & 255;
    return (uint32_t)lround(a + (b - a) * part) << shift;
}

uint32_t qn_color_of_share(double share)
{
    int last = (int)(sizeof anchors / sizeof anchors[0]) - 1;
    double at = fmin(fmax(share, 0), 1) * last;
    int i = at < last ? (int)at : last - 1;
    double part = at - i;
    return between(anchors[i], anchors[i + 1], part, 16) |
           between(anchors[i], anchors[i + 1], part, 8) |
           between(anchors[i], anchors[i + 1], part, 0);
}
