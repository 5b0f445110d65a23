#!/bin/sh
# presets.sh QUERN [PRESET...] - every preset of Penn Treebank and of sentiment
# (or those named) trains 20 steps; its loss falls, or, of 24 reviews a step,
# stays near that of chance; and its weights are evaluated on 5,000 predictions,
# or 200 reviews. Those whose data is not in the data folder are left out;
# skipped (77) when that leaves none.
set -eu
quern=$1
shift
data=${QUERN_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/quern}
has() {
    [ -e "$data/$1" ] || [ -e "$data/$1.gz" ]
}
vectors=
for file in glove.6B.100d.imdb.txt glove.6B.100d.txt; do
    [ -n "$vectors" ] || ! has "glove/$file" || vectors=glove/$file
done
# Whether the data of a preset is there.
can_train() {
    case $1 in
    ptb-*) has ptb/ptb.train.txt ;;
    sentiment/*) has imdb/imdb.train.tsv && [ -n "$vectors" ] ;;
    *) false ;;
    esac
}
work=$(mktemp -d "${TMPDIR:-/tmp}/quern-presets.XXXXXX")
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- $("$quern" presets |
    awk '/^(ptb-|sentiment\/)/ { print $1 }')
[ $# -gt 0 ] || { echo "quern presets lists none with data" >&2; exit 1; }

# The value of KEY in the last line of the file that has it.
last() {
    sed -n "s/.*\"$1\":\\([-0-9.e+]*\\).*/\\1/p" "$2" | tail -n 1
}

n_trained=0
for preset; do
    can_train "$preset" || continue
    n_trained=$((n_trained + 1))
    log=$work/log
    case $preset in
    sentiment/*)
        n_wanted=200
        most=1 # chance has ln 2
        set_up="data.vectors=$vectors model.embed=100 data.lower=true"
        set_up="$set_up data.max_words=200"
        ;;
    *)
        n_wanted=5000
        most=
        set_up="sample.every=none"
        ;;
    esac
    "$quern" --store "$work/store" train -p "$preset" name=try steps=20 \
        eval.limit=$n_wanted $set_up --json >"$log"
    grep -q '"event":"done"' "$log" || { echo "$preset: not done" >&2; exit 1; }
    grep '"event":"step"' "$log" >"$work/steps"
    first=$(head -n 1 "$work/steps" | sed 's/.*"loss":\([-0-9.e+]*\).*/\1/')
    now=$(last loss "$work/steps")
    awk -v a="${most:-$first}" -v b="$now" \
        'BEGIN { exit !(b < a && b > 0) }' || {
        echo "$preset: loss $first, after 20 steps $now" >&2
        exit 1
    }
    "$quern" --store "$work/store" eval try --split test eval.limit=$n_wanted \
        --json >"$work/eval"
    n=$(last predictions "$work/eval")
    [ "$n" = $n_wanted ] || {
        echo "$preset: $n predictions, not $n_wanted" >&2
        exit 1
    }
    echo "$preset: loss $first to $now, test $(last loss "$work/eval")," \
        "$(last tokens_per_s "$work/steps") tokens/s"
    rm -rf "$work/store"
done
[ $n_trained -gt 0 ] || {
    echo "skipped: neither ptb nor imdb and glove in $data (scripts/get-data)"
    exit 77
}
