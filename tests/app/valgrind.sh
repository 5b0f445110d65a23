#!/bin/sh
# valgrind.sh QUERN - a short run leaks nothing and reads nothing it did not
# write.
set -eu
quern=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/quern-valgrind.XXXXXX")
trap 'rm -rf "$work"' EXIT
awk 'BEGIN { for (i = 0; i < 400; i++) printf "line %d of a text\n", i % 7 }' \
    >"$work/text"
# fontconfig, which cairo asks for letters, keeps its memory for the process by
# distances in place of pointers: that looks like a leak and is none.
cat >"$work/known" <<'END'
{
   fontconfig
   Memcheck:Leak
   match-leak-kinds: definite
   ...
   obj:*/libfontconfig.so*
}
END
check() {
    valgrind --quiet --error-exitcode=9 --leak-check=full \
        --suppressions="$work/known" \
        --errors-for-leak-kinds=definite "$quern" --store "$work/store" "$@"
}
check train name=v data.train="$work/text" steps=4 threads=2 model.hidden=12 \
    model.embed=6 batch=3 seq=7 model.dropout=0.1 optim.clip_norm=1 \
    eval.every=2 sample.every=2 sample.length=20 checkpoint.every=2
check eval v --split test
check stats v --json
check sample v --prompt line --length 20
check export v --to "$work/out"
