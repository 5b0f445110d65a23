#!/bin/sh
# A classifier learns on the screen: its accuracy stands beside its loss, a key
# shows the one or the other, and what is typed ahead of a question stops
# nothing.
set -eu
. "$(dirname "$0")/lib.sh"

# Documents that one word decides.
documents=$work/documents.tsv
awk 'BEGIN {
    split("film plot actor scene music story camera voice", w)
    for (i = 0; i < 200; i++) {
        printf "%d\t0\t", i % 2
        for (k = 0; k < 3 + i % 5; k++)
            printf "the %s was seen and ", w[(i * 3 + k * 5) % 8 + 1]
        print i % 2 ? "it was bright" : "it was dull"
    }
}' >"$documents"
labelled="task=classify data.train=$documents data.valid=none
    data.fold='1 of 4' data.test=0.1 model.hidden=16 model.embed=8
    model.layers=1 batch=8 threads=1 optim.lr=0.01 steps=1000000
    eval.every=100 stats.every=10 checkpoint.every=none"
labelled=$(echo $labelled) # on one line

open 120x34 "$quern name=toy $labelled"
wait_for 'acc [0-9.]+ %'
wait_for 'best valid [0-9.]+ %'
wait_for 'loss nats'
wait_for 'near'
wait_for 'accuracy [0-9.]+ %'
key M-a
wait_for '─ accuracy '
wait_for '[0-9]+%┤'
wait_for 'valid [0-9.]+ %'
lacks 'loss nats' || fail 'the loss stands beside the accuracy'
# What it learns is easy.
wait_for 'acc (9[5-9]|100)\.[0-9] %'
wait_for 'best valid (9[5-9]|100)\.[0-9] %'

# Within a pane the letter alone does it.
key M-1
type_text 'a'
wait_for 'loss nats'
type_text 'a'
wait_for '─ accuracy '
for size in 80x24 40x10; do
    t resize-window -x "${size%x*}" -y "${size#*x}"
    wait_for '─ accuracy '
    wait_for 'acc [0-9.]+ %'
done
t resize-window -x 120 -y 34
key Escape

# F9 and letters in one go: the letters were there before the question.
printf '\033[20~ds' >"$work/ahead"
t load-buffer "$work/ahead"
t paste-buffer -r
wait_for 'stop this run'
key c
wait_gone 'stop this run'
wait_for 'running'

key F9
wait_for 'stop this run'
key s
wait_for 'stopped'
key C-d
wait_shell
"$quern" runs | grep -q 'accuracy\|%' || fail 'the list of runs has no accuracy'
