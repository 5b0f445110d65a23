#!/bin/sh
# TERM and HUP save the run; a crash restores the terminal all the same.
set -eu
. "$(dirname "$0")/lib.sh"

open 100x30 "$quern name=term $endless"
wait_for 'loss [0-9]'
kill -TERM "$(quern_pid)"
wait_shell
"$quern" runs --json | grep -q '"state":"stopped"' || fail "TERM lost the run"

open 100x30 "$quern name=crash $endless"
wait_for 'loss [0-9]'
kill -SEGV "$(quern_pid)"
wait_shell

open 100x30 "$quern name=suspend $endless"
wait_for 'loss [0-9]'
key C-z
wait_main_screen
# What is typed before the shell has its prompt may be thrown away.
wait_for '^shell> *$'
type_line 'fg'
wait_for 'running'
key C-d
wait_for 'quit\?'
key y
wait_shell

# A full disk is waited for; TERM ends the wait, and says what was not saved.
open 100x30 "trap '' XFSZ; ulimit -f 40; $quern name=full $endless; echo \"ended with \$?\""
wait_for 'tried again until it works'
kill -TERM "$(quern_pid)"
wait_for 'full was not saved: '
wait_for 'ended with 1'
