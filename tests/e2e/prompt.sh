#!/bin/sh
# The prompt edits UTF-8, searches its history, takes pastes and several lines,
# and Ctrl-C clears it or interrupts Lua.
set -eu
. "$(dirname "$0")/lib.sh"

open 100x30 "$quern"
wait_for 'quern>'

type_line 'print("é日本" .. 1 + 1)'
wait_for '^.?é日本2'

# Ctrl-R with a character of several bytes.
key C-r
type_text 'é日'
wait_for 'reverse-i-search.*é日'
key Enter
wait_until 'Ctrl-R did not run it again' \
    count_is 2 '^.?é日本2'

# The cursor stands behind the two columns of a wide character.
type_text 'x="日"'
wait_until 'the cursor is not after the wide character' \
    cursor_at 13

# Ctrl-C clears a line and says what it is for on an empty one.
key C-c
wait_gone 'x="日"'
key C-c
wait_for 'Ctrl-D quits'

# A chunk of several lines.
type_line 'for i = 1, 2 do'
wait_for '>>'
type_line 'print("line", i) end'
wait_for 'line.*2'

# A bracketed paste is never run by itself.
t set-buffer 'print("pasted")
print("twice")
'
t paste-buffer -p
wait_for 'print\("pasted"\)'
lacks '^.?pasted' || fail 'the paste was run'
key Enter
wait_for '^.?pasted'
wait_for '^.?twice'

# Endless Lua is interrupted; where it swallows errors, by the
# second Ctrl-C.
type_line 'while true do end'
wait_for 'Ctrl-C interrupts'
key C-c
wait_for 'prompt:1: interrupted'
type_line 'while true do pcall(function() while true do end end) end'
wait_for 'Ctrl-C interrupts'
interrupt_again() {
    key C-c
    lacks 'Ctrl-C interrupts'
}
wait_until 'Lua was not interrupted' interrupt_again
type_line '"alive " .. 1 + 1'
wait_for 'alive 2'

# Errors and completion.
type_line 'nosuch.field = 1'
wait_for 'nosuch'
type_text 'qn.pre'
key Tab
wait_for 'qn.preset'
key C-c

key C-d
wait_shell

# TAB finds a file in a folder: the quote stays open behind the folder.
mkdir -p "$work/verse"
: >"$work/verse/poem.txt"
open 100x30 "cd $work && $quern"
wait_for 'quern>'
type_text 'io.open("ver'
key Tab
wait_for 'verse/[^"]*$'
type_text 'po'
key Tab
wait_for 'quern> io.open\("verse/poem.txt'
key C-c
key C-d
wait_shell

# A lone Esc swallows nothing, and ends a search.
open 100x30 "$quern"
wait_for 'quern>'
key Escape
sleep 0.2 # as long as a person takes: nothing on the screen tells
type_line '"es" .. "caped"'
wait_for '^.?escaped'
key C-r
type_text 'esc'
wait_for 'reverse-i-search.*esc'
key Escape
wait_gone 'reverse-i-search'
type_text ' .. "!"'
wait_for 'quern> "es" .. "caped"'
key C-c
key C-d
wait_shell

# Each command is there to be fetched again, however slowly it was typed,
# in a new home as well.
mkdir -p "$work/fresh/quern"
open 100x30 "XDG_STATE_HOME=$work/fresh $quern"
wait_for 'quern>'
for i in 1 2 3; do
    type_line "$i * 111"
    wait_for "^.?$((i * 111))"
done
key Up
wait_for 'quern> 3 \* 111.*'
key Up
key Up
wait_until 'the first command is not in the history' count_is 2 '^quern> 1 \* 111'
key C-c
# Another workbench that ended meanwhile keeps its commands.
printf '#1\nother()\n' >>"$work/fresh/quern/history"
key C-d
wait_shell
for entry in 'other()' '1 * 111' '3 * 111'; do
    grep -qxF "$entry" "$work/fresh/quern/history" || fail "lost: $entry"
done

# The history is there in the next session, of several lines or not.
open 100x30 "$quern"
wait_for 'quern>'
key C-r
type_text 'pasted'
wait_for 'reverse-i-search.*pasted'
key C-c
key C-d
wait_shell
