#!/bin/sh
# Few colours, none, no UTF-8: it shows the same. No terminal: a sentence.
set -eu
. "$(dirname "$0")/lib.sh"

look() {
    open 90x26 "$1 $quern name=fox $endless"
    wait_for 'running'
    wait_for 'near'
    wait_for 'loss [0-9]'
    key C-d
    wait_for 'quit\?'
    key y
    wait_shell
}
look "TERM=screen"
look "TERM=vt100"
look "NO_COLOR=1"
look "LC_ALL=C LANG=C"

# Too plain a terminal, or none.
open 90x26 "TERM=dumb $quern"
wait_for 'TERM=dumb'
wait_main_screen
if "$quern" </dev/null >"$work/out" 2>"$work/err"; then
    fail "quern without a terminal or a preset should fail"
fi
grep -q 'terminal' "$work/err" || fail "it does not say that it wants a terminal"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "it says more than one sentence"

# Without a terminal the same run goes line by line and ends.
"$quern" name=fox $small steps=20 log.every=5 </dev/null >"$work/out" 2>&1 ||
    fail "the run without a terminal failed: $(cat "$work/out")"
grep -q 'step' "$work/out" || fail "no step was printed"
