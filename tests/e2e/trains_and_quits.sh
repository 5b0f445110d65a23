#!/bin/sh
# A run trains on the screen, is paused, stopped by quitting, and kept.
set -eu
. "$(dirname "$0")/lib.sh"

open 110x32 "$quern name=fox $endless"
wait_for 'running'
wait_for 'loss [0-9]'
wait_for 'near'
wait_for '[0-9]+%'
wait_for 'valid'

key F1
wait_for 'keys'
wait_for 'F8'
key Escape
wait_gone 'Esc closes'

key F8
wait_for 'paused'
key F8
wait_for 'running'

type_line '6 * 7'
wait_for '^.?42'

key C-d
wait_for 'quit\?'
key n
wait_gone 'quit\?'
key C-d
wait_for 'quit\?'
key y
wait_shell
wait_for 'quern resume'

"$quern" runs --json >"$work/runs"
grep -q '"name":"fox"' "$work/runs" || fail "the run is not listed"
grep -q '"state":"stopped"' "$work/runs" || fail "the run is not stopped"
