#!/bin/sh
# Who leaves is not held up: not by Lua that swallows errors or goes on after a
# wait, and not by lines typed ahead.
set -eu
. "$(dirname "$0")/lib.sh"

open 100x30 "$quern"
wait_for 'quern>'
printf 'qn.quit()\rio.open("%s/ran", "w"):close()\r' "$work" >"$work/ahead"
t load-buffer "$work/ahead"
t paste-buffer -r
wait_shell
[ ! -e "$work/ran" ] || fail "a line behind qn.quit() was run"

open 100x30 "$quern"
wait_for 'quern>'
type_line 'while true do pcall(function() while true do end end) end'
wait_for 'Ctrl-C interrupts'
kill -TERM "$(quern_pid)"
wait_shell

open 100x30 "$quern name=waits $endless"
wait_for 'loss [0-9]'
type_line 'while true do qn.run(1):wait() end'
wait_for 'Ctrl-C interrupts'
kill -TERM "$(quern_pid)"
wait_shell
"$quern" runs --json | grep -q '"state":"stopped"' || fail "TERM lost the run"
