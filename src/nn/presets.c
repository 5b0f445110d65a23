/* presets.c - ready-made runs, as the keys they set. */
#include "nn/settings.h"

#include "base/assert.h"

/* A run for a first look: some minutes on a desktop's cores. */
static const char *const demo[] = {"data.train=builtin:kjv",
                                   "data.level=char",
                                   "batch=32",
                                   "seq=64",
                                   "steps=7000",
                                   "model.layers=3",
                                   "model.hidden=256",
                                   "model.embed=64",
                                   "model.window=6,2",
                                   "model.pooling=fo",
                                   "model.activation=drelu",
                                   "model.dropout=0.05",
                                   "model.init.kind=orthogonal",
                                   "model.init.gain=1",
                                   "optim.kind=adam",
                                   "optim.lr=0.003",
                                   "optim.clip_norm=5",
                                   "eval.every=500 steps",
                                   "eval.limit=100000",
                                   "stats.every=20 steps",
                                   "sample.every=1 eval",
                                   "sample.prompt=In the beginning",
                                   "checkpoint.every=500 steps",
                                   NULL};

/* Character-level Penn Treebank (paper, table 4), without batch norm. */
#define PTB_CHAR                                                               \
    "data.train=ptb/ptb.train.txt", "data.valid=ptb/ptb.valid.txt",            \
        "data.test=ptb/ptb.test.txt", "data.level=char", "batch=128",          \
        "seq=100", "epochs=50", "model.embed=50", "model.window=6,2",          \
        "model.pooling=fo", "model.init.kind=orthogonal",                      \
        "model.init.gain=0.5", "optim.kind=adam", "optim.lr=0.0003",           \
        "optim.clip_norm=5", "eval.every=1 epoch", "checkpoint.every=1 epoch"

static const char *const ptb_drelu_2x250[] = {
    PTB_CHAR,           "model.activation=drelu", "model.layers=2",
    "model.hidden=250", "model.dropout=0.15",     NULL};
static const char *const ptb_drelu_4x250[] = {
    PTB_CHAR,           "model.activation=drelu", "model.layers=4",
    "model.hidden=250", "model.dropout=0.15",     NULL};
static const char *const ptb_drelu_4x500[] = {
    PTB_CHAR,           "model.activation=drelu", "model.layers=4",
    "model.hidden=500", "model.dropout=0.3",      NULL};

static const struct qn_preset_info presets[] = {
    {"demo", "3 layers of 256 DReLU units on the King James Bible", demo},
    {"ptb-char/drelu-2x250", "Penn Treebank by character, 2 layers of 250",
     ptb_drelu_2x250},
    {"ptb-char/drelu-4x250", "Penn Treebank by character, 4 layers of 250",
     ptb_drelu_4x250},
    {"ptb-char/drelu-4x500", "Penn Treebank by character, 4 layers of 500",
     ptb_drelu_4x500},
};

#define N_PRESETS ((int)(sizeof presets / sizeof presets[0]))

int qn_n_presets(void)
{
    return N_PRESETS;
}

const struct qn_preset_info *qn_preset_at(int i)
{
    QN_ASSERT(i >= 0 && i < N_PRESETS);
    return &presets[i];
}
