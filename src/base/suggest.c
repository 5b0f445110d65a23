/* suggest.c - which name was meant: edit distance and the nearest of a list. */
#include "base/str.h"

#include "base/mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* One row of the optimal string alignment table: row[j] is the distance of
 * a[0..=i] and b[0..j); last and before_last are the rows above. */
static void align_row(int *row, const int *last, const int *before_last,
                      const char *a, size_t i, const char *b)
{
    row[0] = last[0] + 1;
    for (size_t j = 0; b[j] != '\0'; j++) {
        int replaced = last[j] + (a[i] != b[j]);
        int best = min_int(min_int(row[j], last[j + 1]) + 1, replaced);
        if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
            best = min_int(best, before_last[j - 1] + 1);
        }
        row[j + 1] = best;
    }
}

int qn_edit_distance(const char *a, const char *b)
{
    size_t width = strlen(b) + 1;
    int *cells = qn_xcalloc(width, 3 * sizeof *cells);
    int *before_last = cells, *last = cells + width, *row = last + width;
    for (size_t j = 0; j < width; j++) {
        last[j] = (int)j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        align_row(row, last, before_last, a, i, b);
        int *oldest = before_last;
        before_last = last;
        last = row;
        row = oldest;
    }
    int distance = last[width - 1];
    free(cells);
    return distance;
}

/* Distance when near enough to suggest: a third of the letters may be wrong,
 * and always one. INT_MAX otherwise. */
static int near_distance(const char *word, const char *name)
{
    size_t len = strlen(word);
    size_t name_len = strlen(name);
    int allowed = len >= 6 ? (int)(len / 3) : 1;
    /* It is at least the difference of the lengths: a word from a file may be
     * long, and aligning one takes long then. */
    size_t apart = len > name_len ? len - name_len : name_len - len;
    if (apart > (size_t)allowed) {
        return INT_MAX;
    }
    int distance = qn_edit_distance(word, name);
    return distance <= allowed ? distance : INT_MAX;
}

int qn_nearest(const char *word, const char *const *names, int n)
{
    int best = -1;
    int best_distance = INT_MAX;
    for (int i = 0; i < n; i++) {
        int distance = near_distance(word, names[i]);
        const char *dot = strrchr(names[i], '.');
        if (dot != NULL) {
            distance = min_int(distance, near_distance(word, dot + 1));
        }
        if (distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}
