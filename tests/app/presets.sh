#!/bin/sh
# presets.sh QUERN [PRESET...] - every preset of Penn Treebank (or those named)
# trains 20 steps, its loss falls, and its weights are evaluated on 5,000
# predictions. Skipped (77) where the data folder has no Penn Treebank.
set -eu
quern=$1
shift
data=${QUERN_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/quern}
if ! [ -e "$data/ptb/ptb.train.txt" ] && ! [ -e "$data/ptb/ptb.train.txt.gz" ]
then
    echo "skipped: no ptb in $data (scripts/get-data ptb)"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/quern-presets.XXXXXX")
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- $("$quern" presets | sed -n 's/^\(ptb-[^ ]*\).*/\1/p')
[ $# -gt 0 ] || { echo "quern presets lists none of Penn Treebank" >&2; exit 1; }

# The value of KEY in the last line of the file that has it.
last() {
    sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p" "$2" | tail -n 1
}

for preset; do
    log=$work/log
    "$quern" --store "$work/store" train -p "$preset" name=try steps=20 \
        eval.limit=5000 sample.every=none --json >"$log"
    grep -q '"event":"done"' "$log" || { echo "$preset: not done" >&2; exit 1; }
    grep '"event":"step"' "$log" >"$work/steps"
    first=$(head -n 1 "$work/steps" | sed 's/.*"loss":\([-0-9.e+]*\).*/\1/')
    now=$(last loss "$work/steps")
    awk -v a="$first" -v b="$now" 'BEGIN { exit !(b < a && b > 0) }' || {
        echo "$preset: loss $first, after 20 steps $now" >&2
        exit 1
    }
    "$quern" --store "$work/store" eval try --split test eval.limit=5000 \
        --json >"$work/eval"
    n=$(last predictions "$work/eval")
    [ "$n" = 5000 ] || { echo "$preset: $n predictions, not 5000" >&2; exit 1; }
    echo "$preset: loss $first to $now, test $(last loss "$work/eval")," \
        "$(last tokens_per_s "$work/steps") tokens/s"
    rm -rf "$work/store"
done
