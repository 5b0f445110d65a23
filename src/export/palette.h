/* palette.h - the colours of figures.
 *
 * Okabe and Ito's, which people with any of the usual kinds of colour blindness
 * tell apart; what lies side by side differs in lightness as well, for print in
 * grey.
 */
#ifndef QN_EXPORT_PALETTE_H
#define QN_EXPORT_PALETTE_H

#include <stdint.h>

enum qn_color {
    QN_COLOR_TEXT = 0x000000,
    QN_COLOR_AXIS = 0x4d4d4d,
    QN_COLOR_GRID = 0xe6e6e6,
    /* As on the screen. */
    QN_COLOR_NEGATIVE = 0xd55e00, /* vermilion */
    QN_COLOR_NEAR = 0xc4c4c4,
    QN_COLOR_POSITIVE = 0x0072b2, /* blue */
    QN_COLOR_NAN = 0x000000,
    QN_COLOR_BAND = 0xf0f0f0, /* behind what is near zero */
    QN_COLOR_TRAIN = 0x0072b2,
    QN_COLOR_RAW = 0xb3d1e6, /* a training curve that is not smoothed */
    QN_COLOR_VALID = 0x000000,
    QN_COLOR_MARK = 0xd55e00 /* the best, what is not finite */
};

/* The colour of a share, from 0, white, to 1, nearly black: lightness falls
 * evenly, by way of ochre and slate blue. Beyond the ends: the ends. */
uint32_t qn_color_of_share(double share);

#endif
