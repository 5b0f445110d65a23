#!/bin/sh
# F9 asks; c goes on, s saves and stops, and the workbench stays.
set -eu
. "$(dirname "$0")/lib.sh"

open 100x30 "$quern name=fox $endless"
wait_for 'running'
wait_for 'loss [0-9]'
key F9
wait_for 'stop this run'
key c
wait_gone 'stop this run'
wait_for 'running'
key F9
wait_for 'stop this run'
key s
wait_for 'stopped'
type_line '"still " .. "here"'
wait_for 'still here'
key C-d
wait_shell
