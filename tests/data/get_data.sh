#!/bin/sh
# get_data.sh GET-DATA - the script with a table of two small sets: what it
# takes from a folder, what it refuses in one sentence, that nothing is left then.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/quern-get-data.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
unset QUERN_DATA
export XDG_DATA_HOME="$work/xdg"
# The table is looked for beside the script.
mkdir bin
cp "$1" bin/get-data

mkdir in
printf 'one two\n' >in/a.txt
printf 'three\n' >in/b.txt
sum_of() { sha256sum <"$1" | cut -d ' ' -f 1; }
cat >bin/data-sets <<END
set few 123456 file://$work/none/few.tgz free for all
file few a.txt 8 $(sum_of in/a.txt)
file few b.txt 6 $(sum_of in/b.txt)
set one 99 file://$work/one.zip nobody's (c)
file one a.txt 8 $(sum_of in/a.txt)
END

fail() {
    echo "get_data: $*" >&2
    cat out err >&2
    exit 1
}
# expect STATUS TEXT get-data's arguments: TEXT is all it says, on stdout when
# it succeeds and else on stderr.
expect() {
    status=$1
    text=$2
    shift 2
    got=0
    bin/get-data "$@" >out 2>err || got=$?
    [ "$got" = "$status" ] || fail "'$*' ended with $got, not $status"
    said=err
    [ "$status" != 0 ] || said=out
    printf '%s\n' "$text" | cmp -s - "$said" || fail "'$*' did not say: $text"
}
holds() { cmp -s "in/$2" "$1/$2" || fail "$1/$2 is not right"; }
is_gone() { ! [ -e "$1" ] || fail "$1 was left behind"; }

# The list, and misuse.
expect 0 "few: 0.0 MB, fetched as 0.1 MB
    free for all
one: 0.0 MB, fetched as 0.0 MB
    nobody's (c)"
expect 1 "get-data: there is no set 'other'; there are: few one" other
expect 1 "get-data: nowhere: no such folder" few --from nowhere
saved=$XDG_DATA_HOME
unset XDG_DATA_HOME
HOME= expect 1 "get-data: there is no HOME; --to DIR says where to" few
export XDG_DATA_HOME="$saved"
expect 2 "usage: get-data [NAME... [--from DIR] [--to DIR]]" few --from
expect 2 "usage: get-data [NAME... [--from DIR] [--to DIR]]" --what

# From a folder: plain and packed, by file name, deep below.
mkdir -p "from/deep er/x"
cp in/a.txt "from/deep er/a.txt"
gzip -c in/b.txt >"from/deep er/x/b.txt.gz"
expect 0 "few: free for all
few/a.txt: put into to
few/b.txt: put into to" few --from from --to to
holds to/few a.txt
holds to/few b.txt
[ "$(ls -A to)" = few ] || fail "to holds more than few"
expect 0 "few: free for all
few/a.txt: is in to already
few/b.txt: is in to already" few --from from --to to
# What is there and wrong is replaced.
echo spoilt >to/few/b.txt
expect 0 "few: free for all
few/a.txt: is in to already
few/b.txt: put into to" few --from from --to to
holds to/few b.txt

# The data folder is the program's.
expect 0 "one: nobody's (c)
one/a.txt: put into $XDG_DATA_HOME/quern" one --from from
holds xdg/quern/one a.txt
QUERN_DATA=$work/set
export QUERN_DATA
expect 0 "one: nobody's (c)
one/a.txt: put into $work/set" one --from from
holds set/one a.txt

# A wrong sum: both are named, a right file elsewhere wins.
mkdir wrong
echo other >wrong/a.txt
expect 1 "get-data: wrong/a.txt: SHA-256 is $(sum_of wrong/a.txt), must be \
$(sum_of in/a.txt)" few --from wrong --to new
is_gone new
mkdir wrong/z
cp in/a.txt wrong/z/a.txt
expect 0 "one: nobody's (c)
one/a.txt: put into new" one --from wrong --to new
holds new/one a.txt

# A damaged .gz.
mkdir cut
gzip -c in/a.txt | head -c 20 >cut/a.txt.gz
bin/get-data one --from cut --to new2 >out 2>err && fail "took a cut .gz"
[ "$(wc -l <err)" = 1 ] || fail "not one sentence"
grep -q '^get-data: cut/a.txt.gz: cannot be read: gzip: ' err ||
    fail "no reason"
is_gone new2

# The archive itself, a missing member, a broken archive.
mkdir -p pack/simple tgz
cp in/a.txt in/b.txt pack/simple
tar -czf tgz/few.tgz -C pack ./simple
expect 0 "few: free for all
few/a.txt: put into new3
few/b.txt: put into new3" few --from tgz --to new3
holds new3/few b.txt
rm pack/simple/b.txt
tar -czf tgz/few.tgz -C pack ./simple
expect 1 "get-data: few.tgz holds no b.txt" few --from tgz --to new4
[ "$(ls -A new4)" = few ] || fail "new4 holds more than few"
echo rubbish >tgz/few.tgz
bin/get-data few --from tgz --to new5 >out 2>err && fail "took rubbish"
[ "$(wc -l <err)" = 1 ] || fail "not one sentence"
grep -q '^get-data: tgz/few.tgz: cannot be unpacked: ' err || fail "no reason"
is_gone new5
mkdir empty
expect 1 "get-data: neither a.txt, a.txt.gz, a.txt.xz nor few.tgz is below \
empty" few --from empty --to new6
is_gone new6

# Fetching, from an address that has nothing.
if command -v curl >/dev/null; then
    bin/get-data few --to new7 >out 2>err && fail "fetched nothing"
    [ "$(head -n 1 out)" = "few: free for all" ] || fail "no terms"
    [ "$(wc -l <err)" = 1 ] || fail "not one sentence"
    grep -q "^get-data: cannot fetch file://$work/none/few.tgz: " err ||
        fail "no reason"
    is_gone new7
fi
