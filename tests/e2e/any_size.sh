#!/bin/sh
# Resized while it trains, down to one cell and back, it goes on.
set -eu
. "$(dirname "$0")/lib.sh"

open 120x40 "$quern name=fox $endless"
wait_for 'running'
for size in 80x24 40x10 20x5 8x2 2x1 200x60 1x1 60x12 100x30; do
    t resize-window -x "${size%x*}" -y "${size#*x}"
    wait_until "quern ended at $size" quern_pid >/dev/null
done
wait_for 'running'
type_line '6 * 7'
wait_for '^.?42'
key C-d
wait_for 'quit\?'
key y
wait_shell
