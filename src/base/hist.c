/* hist.c - count values into log-spaced bins, exactly and fast.
 *
 * A float's bits without the sign, read as an integer, grow with its magnitude.
 * The upper eleven of them name a cell, an eighth of an octave; bins are wider
 * than cells, so a cell holds at most one edge. first_bin says in which bin a
 * cell begins; one comparison with the edge above settles the rest. The tables
 * are constants, so that counting needs neither state nor set-up; the tests
 * compute both anew. */
#include "base/hist.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

#define CELL_SHIFT 20
#define FIRST_CELL 881 /* below it every value is in bin 0 ... */
#define LAST_CELL 1096 /* ... and from it on in the last bin */

/* clang-format off */
/* 10^(-5 + i/16), rounded to float; then what no magnitude reaches. */
static const float edges[QN_HIST_EDGES + 1] = {
    9.99999975e-06f, 1.15478197e-05f, 1.33352141e-05f, 1.5399266e-05f,
    1.77827933e-05f, 2.05352499e-05f, 2.37137374e-05f, 2.73841961e-05f,
    3.16227779e-05f, 3.65174128e-05f, 4.21696495e-05f, 4.8696751e-05f,
    5.62341338e-05f, 6.49381618e-05f, 7.49894243e-05f, 8.65964321e-05f,
    9.99999975e-05f, 0.0001154782f, 0.00013335215f, 0.00015399266f,
    0.00017782794f, 0.00020535251f, 0.00023713737f, 0.000273841957f,
    0.000316227757f, 0.000365174114f, 0.000421696517f, 0.000486967532f,
    0.000562341302f, 0.000649381604f, 0.000749894185f, 0.000865964335f,
    0.00100000005f, 0.00115478202f, 0.00133352145f, 0.00153992651f,
    0.00177827943f, 0.00205352507f, 0.00237137382f, 0.00273841969f,
    0.00316227763f, 0.00365174119f, 0.00421696482f, 0.00486967526f,
    0.00562341325f, 0.00649381615f, 0.00749894232f, 0.00865964312f,
    0.00999999978f, 0.0115478197f, 0.013335214f, 0.0153992651f,
    0.0177827943f, 0.0205352511f, 0.0237137377f, 0.0273841955f,
    0.0316227749f, 0.0365174115f, 0.0421696492f, 0.0486967526f,
    0.0562341325f, 0.0649381652f, 0.0749894232f, 0.0865964293f,
    0.100000001f, 0.115478195f, 0.133352146f, 0.153992653f,
    0.177827939f, 0.2053525f, 0.237137377f, 0.273841977f,
    0.316227764f, 0.365174115f, 0.421696514f, 0.486967534f,
    0.562341332f, 0.649381638f, 0.749894202f, 0.865964353f,
    1.0f, 1.15478194f, 1.33352149f, 1.53992653f,
    1.77827942f, 2.05352497f, 2.37137365f, 2.73841953f,
    3.1622777f, 3.65174127f, 4.2169652f, 4.86967516f,
    5.62341309f, 6.49381638f, 7.4989419f, 8.65964317f,
    10.0f, 11.5478201f, 13.3352146f, 15.3992653f,
    17.782795f, 20.5352497f, 23.7137375f, 27.3841972f,
    31.622776f, 36.5174141f, 42.169651f, 48.6967506f,
    56.2341309f, 64.9381638f, 74.989418f, 86.5964355f,
    100.0f, 115.478195f, 133.352142f, 153.992645f,
    177.827942f, 205.352509f, 237.137375f, 273.841949f,
    316.227753f, 365.174133f, 421.696503f, 486.967529f,
    562.341309f, 649.381653f, 749.894226f, 865.964294f,
    1000.0f,
    NAN,
};

static const uint8_t first_bin[LAST_CELL - FIRST_CELL + 1] = {
    0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6,
    7, 7, 8, 8, 9, 10, 10, 11, 12, 12, 13, 13,
    14, 15, 15, 16, 16, 17, 17, 18, 19, 19, 20, 21,
    21, 22, 22, 23, 24, 24, 25, 26, 26, 27, 27, 28,
    28, 29, 30, 30, 31, 31, 32, 32, 33, 34, 35, 35,
    36, 36, 37, 37, 38, 39, 39, 40, 41, 41, 42, 42,
    43, 44, 44, 45, 45, 46, 46, 47, 48, 48, 49, 50,
    50, 51, 51, 52, 52, 53, 54, 54, 55, 55, 56, 56,
    57, 58, 59, 59, 60, 60, 61, 61, 62, 63, 63, 64,
    65, 65, 66, 66, 67, 68, 68, 69, 69, 70, 70, 71,
    72, 72, 73, 74, 74, 75, 75, 76, 77, 77, 78, 79,
    79, 80, 80, 81, 81, 82, 83, 83, 84, 84, 85, 85,
    86, 87, 88, 88, 89, 89, 90, 90, 91, 92, 92, 93,
    94, 94, 95, 95, 96, 97, 97, 98, 98, 99, 99, 100,
    101, 101, 102, 103, 103, 104, 104, 105, 105, 106, 107, 107,
    108, 108, 109, 109, 110, 111, 112, 112, 113, 113, 114, 114,
    115, 116, 116, 117, 118, 118, 119, 119, 120, 121, 121, 122,
    122, 123, 123, 124, 125, 125, 126, 127, 127, 128, 128, 129,
};
/* clang-format on */

/* Counts of one block of values. Neighbouring values are often alike, and
 * adding to one counter twice in a row is slow: they go to different lanes. */
#define LANES 2
#define BLOCK 8192
struct tally {
    uint32_t bin[LANES][2][QN_HIST_BINS]; /* zeros and NaN in the end bins */
};

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Bin of a magnitude; NaN falls into the last. */
static unsigned bin_of(float magnitude, uint32_t bits)
{
    unsigned cell = bits >> CELL_SHIFT;
    cell = cell < FIRST_CELL ? FIRST_CELL : cell;
    cell = cell > LAST_CELL ? LAST_CELL : cell;
    unsigned bin = first_bin[cell - FIRST_CELL];
    return bin + (magnitude >= edges[bin]);
}

static void tally_one(uint32_t bin[2][QN_HIST_BINS], float x)
{
    uint32_t bits = bits_of(x);
    bin[bits >> 31 ^ 1][bin_of(fabsf(x), bits & 0x7fffffffu)]++;
}

/* How many of some values are what; 32 bits wide to fill vectors. */
struct census {
    uint32_t negative, positive; /* by the threshold */
    uint32_t zero[2], nan[2];    /* by sign: those in no bin */
};

/* Everything that needs no bin: a loop that compilers turn into vectors. */
static struct census take_census(const float *x, size_t n, float t)
{
    uint32_t negative = 0, positive = 0, zero = 0, minus_zero = 0;
    uint32_t nan = 0, minus_nan = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = bits_of(x[i]);
        negative += x[i] <= -t;
        positive += x[i] >= t;
        zero += x[i] == 0;
        minus_zero += bits == 0x80000000u;
        nan += x[i] != x[i];
        minus_nan += bits > 0xff800000u;
    }
    struct census c = {.negative = negative, .positive = positive};
    c.zero[QN_HIST_NEGATIVE] = minus_zero;
    c.zero[QN_HIST_POSITIVE] = zero - minus_zero;
    c.nan[QN_HIST_NEGATIVE] = minus_nan;
    c.nan[QN_HIST_POSITIVE] = nan - minus_nan;
    return c;
}

static void add_census(struct qn_hist *h, const struct census *c, size_t n)
{
    h->n_negative += c->negative;
    h->n_positive += c->positive;
    h->n_near += n - c->negative - c->positive - c->nan[0] - c->nan[1];
    for (int side = 0; side < 2; side++) {
        h->n_zero += c->zero[side];
        h->n_nan += c->nan[side];
        /* add_tally has put them into the end bins. */
        h->bin[side][0] -= c->zero[side];
        h->bin[side][QN_HIST_BINS - 1] -= c->nan[side];
    }
}

static void add_tally(struct qn_hist *h, const struct tally *tally)
{
    for (int side = 0; side < 2; side++) {
        for (int b = 0; b < QN_HIST_BINS; b++) {
            uint64_t count = 0;
            for (int lane = 0; lane < LANES; lane++) {
                count += tally->bin[lane][side][b];
            }
            h->bin[side][b] += count;
        }
    }
}

static void add_block(struct qn_hist *h, const float *x, size_t n)
{
    struct tally tally;
    memset(&tally, 0, sizeof tally);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            tally_one(tally.bin[lane], x[i + (size_t)lane]);
        }
    }
    for (; i < n; i++) {
        tally_one(tally.bin[0], x[i]);
    }
    add_tally(h, &tally);
    struct census census = take_census(x, n, h->threshold);
    add_census(h, &census, n);
}

void qn_hist_init(struct qn_hist *h, float threshold)
{
    QN_ASSERT(threshold > 0);
    *h = (struct qn_hist){.threshold = threshold};
}

void qn_hist_add(struct qn_hist *h, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        add_block(h, x + i, n - i < BLOCK ? n - i : BLOCK);
    }
}

void qn_hist_merge(struct qn_hist *into, const struct qn_hist *from)
{
    QN_ASSERT(into->threshold == from->threshold);
    into->n_negative += from->n_negative;
    into->n_near += from->n_near;
    into->n_positive += from->n_positive;
    into->n_zero += from->n_zero;
    into->n_nan += from->n_nan;
    for (int side = 0; side < 2; side++) {
        for (int b = 0; b < QN_HIST_BINS; b++) {
            into->bin[side][b] += from->bin[side][b];
        }
    }
}

static uint64_t count_all(const struct qn_hist *h)
{
    return h->n_negative + h->n_near + h->n_positive + h->n_nan;
}

struct qn_shares qn_hist_shares(const struct qn_hist *h)
{
    uint64_t count = count_all(h);
    if (count == 0) {
        return (struct qn_shares){0};
    }
    double all = (double)count;
    return (struct qn_shares){.negative = (double)h->n_negative / all,
                              .near = (double)h->n_near / all,
                              .positive = (double)h->n_positive / all,
                              .zero = (double)h->n_zero / all,
                              .nan = (double)h->n_nan / all,
                              .count = count};
}

/* The part of a bin's values taken to lie at t or beyond, t being in the bin:
 * evenly spread over the logarithm, in bin 0 over the value. Nothing is known
 * of the last bin's upper end; all of it counts as beyond. */
static double part_beyond(unsigned bin, float t)
{
    if (bin == 0) {
        return 1 - (double)t / (double)edges[0];
    }
    if (bin == QN_HIST_BINS - 1) {
        return 1;
    }
    double low = (double)edges[bin - 1], high = (double)edges[bin];
    return log(high / (double)t) / log(high / low);
}

static double beyond(const uint64_t bin[QN_HIST_BINS], float t)
{
    unsigned at = bin_of(t, bits_of(t));
    double sum = (double)bin[at] * part_beyond(at, t);
    for (unsigned b = at + 1; b < QN_HIST_BINS; b++) {
        sum += (double)bin[b];
    }
    return sum;
}

struct qn_shares qn_hist_shares_at(const struct qn_hist *h, double threshold)
{
    /* As a float, so that 0.1 means the edge that is 0.1f. */
    float t = (float)threshold;
    QN_ASSERT(t > 0);
    struct qn_shares shares = qn_hist_shares(h);
    if (t == h->threshold || shares.count == 0) {
        return shares;
    }
    double all = (double)shares.count;
    double negative = beyond(h->bin[QN_HIST_NEGATIVE], t);
    double positive = beyond(h->bin[QN_HIST_POSITIVE], t);
    shares.negative = negative / all;
    shares.positive = positive / all;
    shares.near = (all - (double)h->n_nan - negative - positive) / all;
    return shares;
}

float qn_hist_edge(int i)
{
    QN_ASSERT(i >= 0 && i < QN_HIST_EDGES);
    return edges[i];
}
