#!/bin/sh
# Texts that are typed are judged as they come: one Ctrl-D at the beginning of a
# line ends them, two behind a text without Enter, and so does Ctrl-C.
set -eu
. "$(dirname "$0")/lib.sh"

documents=$work/documents.tsv
awk 'BEGIN {
    for (i = 0; i < 20; i++)
        printf "%d\t0\tit was %s\n", i % 2, i % 2 ? "bright" : "dull"
}' >"$documents"
"$quern" train name=toy task=classify "data.train=$documents" data.valid=none \
    data.test=0 model.hidden=8 model.embed=8 model.layers=1 batch=4 threads=1 \
    optim.lr=0.02 epochs=20 >"$work/log"
ask="$quern eval toy --text -"

open 100x20 "$ask"
type_line 'it was bright'
wait_for '^positive +[0-9.]+ %  it was bright$'
type_line 'it was dull'
wait_for '^negative +[0-9.]+ %  it was dull$'
key C-d
wait_shell

open 100x20 "$ask; echo status \$?"
type_text 'was dull'
wait_for '^was dull'
key C-d C-d
wait_for 'negative +[0-9.]+ %  was dull$'
wait_for '^status 0'
wait_shell

open 100x20 "$ask; echo status \$?"
type_line 'it was bright'
wait_for '^positive +[0-9.]+ %  it was bright$'
type_text 'it was'
key C-c
wait_for 'quern: stopped on request'
wait_for '^status 1'
wait_shell
