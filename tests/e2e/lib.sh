# lib.sh - drive the real program in a terminal of tmux; sourced by the tests.
#
# usage: . lib.sh   with $1 = the quern binary. Everything lives in a folder of
# its own that is removed at the end. No test sleeps: wait_for polls the screen
# until it shows what is expected, and prints it when the time is over.

quern=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/quern-e2e.XXXXXX")
n_terminals=0
# Sanitizers and busy machines are slow; a passing test does not wait.
patience=${QN_PATIENCE:-60}

export HOME=$work XDG_STATE_HOME=$work/state XDG_DATA_HOME=$work/data
export XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config
export LANG=C.UTF-8 LC_ALL=C.UTF-8 INPUTRC=/dev/null
unset QUERN_STORE QUERN_DATA NO_COLOR TMUX LINES COLUMNS

# Each terminal is a server of its own: one that is ending takes no session.
socket() { echo "quern-e2e-$$-$1"; }
t() { tmux -L "$(socket "$n_terminals")" -f /dev/null -u "$@"; }

finish() {
    status=$?
    while [ "$n_terminals" -gt 0 ]; do
        t kill-server 2>/dev/null || :
        n_terminals=$((n_terminals - 1))
    done
    rm -rf "$work"
    exit $status
}
trap finish EXIT
trap 'exit 1' INT TERM

# A text that a small network learns quickly.
text=$work/text.txt
awk 'BEGIN {
    split("the quick brown fox jumps over a lazy dog while seven wizards box", w)
    for (i = 0; i < 4000; i++)
        printf "%s%s", w[(i * 7 + int(i / 13) * 5) % 13 + 1], i % 12 ? " " : "\n"
}' >"$text"
# Settings of a run that trains for as long as a test looks at it.
small="data.train=$text model.hidden=16 model.embed=8 batch=4 seq=16 threads=1"
endless="$small steps=1000000 eval.every=200 eval.limit=500 stats.every=10"

screen() { t capture-pane -p; }

# open COLSxROWS COMMAND...: run it in a new terminal; a shell stays after it.
open() {
    size=$1
    shift
    n_terminals=$((n_terminals + 1))
    t new-session -d -x "${size%x*}" -y "${size#*x}" \
        "exec env PS1='shell> ' sh -i"
    t set -g status off
    t set -s escape-time 0
    type_line "$*"
}

type_text() { t send-keys -l -- "$1"; }
type_line() {
    t send-keys -l -- "$1"
    t send-keys Enter
}
key() { t send-keys "$@"; }

fail() {
    echo "FAILED: $*" >&2
    echo "--- the screen:" >&2
    screen >&2 || :
    exit 1
}

# wait_until WHAT COMMAND...: until the command succeeds.
wait_until() {
    what=$1
    shift
    tries=$((patience * 20))
    until "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "$what"
        sleep 0.05
    done
}

shows() { screen | grep -Eq -- "$1"; }
count_is() { [ "$(screen | grep -Ec -- "$2")" -eq "$1" ]; }
cursor_at() { [ "$(t display -p '#{cursor_x}')" = "$1" ]; }
lacks() { ! shows "$1"; }
wait_for() { wait_until "never saw: $1" shows "$1"; }
wait_gone() { wait_until "never went: $1" lacks "$1"; }

on_main_screen() { [ "$(t display -p '#{alternate_on}')" = 0 ]; }
wait_main_screen() {
    wait_until "the terminal was not restored" on_main_screen
}
# The shell after quern echoes and edits lines: modes are back, too.
wait_shell() {
    # Keys typed before quern has gone are quern's.
    wait_until "quern did not end" has_ended
    wait_main_screen
    type_line "stty -a | tr ';' ' '"
    wait_for '(^| )icanon'
    wait_for '(^| )echo( |$)'
}

has_ended() { ! quern_pid >/dev/null; }
quern_pid() { pgrep -P "$(t display -p '#{pane_pid}')" -x quern; }
