#!/bin/sh
# get_data.sh GET-DATA - the script with a table of small sets: what it takes
# from a folder, what it refuses in one sentence, that nothing is left then.
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
printf '0\t3\tno good\n0\t1\tworse\tstill\n1\t9\tfine it is\n1\t7\tok\n' >in/m.tsv
cat >bin/data-sets <<END
set few free for all
archive few 123456 file://$work/none/few.tgz
file few a.txt 8 $(sum_of in/a.txt) few.tgz
file few b.txt 6 $(sum_of in/b.txt) few.tgz
set one nobody's (c)
archive one 99 file://$work/one.zip
file one a.txt 8 $(sum_of in/a.txt) one.zip
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
expect 1 "get-data: few has no file 'c.txt'; there are: a.txt b.txt" few/c.txt
expect 1 "get-data: nowhere: no such folder" few --from nowhere
saved=$XDG_DATA_HOME
unset XDG_DATA_HOME
HOME= expect 1 "get-data: there is no HOME; --to DIR says where to" few
export XDG_DATA_HOME="$saved"
expect 2 "usage: get-data [NAME[/FILE]... [--from DIR] [--to DIR]]" few --from
expect 2 "usage: get-data [NAME[/FILE]... [--from DIR] [--to DIR]]" --what

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

# One file of a set.
expect 0 "few: free for all
few/b.txt: put into new8" few/b.txt --from from --to new8
holds new8/few b.txt
is_gone new8/few/a.txt

# Documents ID_RATING.txt become lines, by their numbers and neg first.
cat >>bin/data-sets <<END
set made to be cited
archive made 1000000 file://$work/none/made_v1.tar.gz
file made m.tsv 44 $(sum_of in/m.tsv) made_v1.tar.gz
made made m.tsv Made/train 2
END
mkdir -p acl/Made/train/neg acl/Made/train/pos acl/Made/train/unsup
printf 'no good' >acl/Made/train/neg/2_3.txt
printf 'worse\tstill\n' >acl/Made/train/neg/10_1.txt
printf 'fine\nit is' >acl/Made/train/pos/0_9.txt
printf 'ok' >acl/Made/train/pos/1_7.txt
printf 'other' >acl/Made/train/pos/notes.txt
expect 0 "made: to be cited
made/m.tsv: put into new9" made --from acl --to new9
holds new9/made m.tsv
mkdir packed
tar -czf packed/made_v1.tar.gz -C acl Made
rm -r new9
expect 0 "made: to be cited
made/m.tsv: put into new9" made --from packed --to new9
holds new9/made m.tsv
# Another sum with all documents is taken and said, and is right from then on.
printf 'OK' >acl/Made/train/pos/1_7.txt
rm -r new9
sed 's/ok$/OK/' in/m.tsv >other.tsv
expect 0 "made: to be cited
made/m.tsv: put into new9; all documents are there, but its SHA-256 is \
$(sum_of other.tsv), must be $(sum_of in/m.tsv)" made --from acl --to new9
cmp -s other.tsv new9/made/m.tsv || fail "the documents are not as they were"
expect 0 "made: to be cited
made/m.tsv: is in new9 already" made --from acl --to new9
# But not from a file that somebody made, nor with a document missing.
mkdir strange
cp other.tsv strange/m.tsv
expect 1 "get-data: strange/m.tsv: SHA-256 is $(sum_of other.tsv), must be \
$(sum_of in/m.tsv)" made --from strange --to new10
rm acl/Made/train/pos/1_7.txt
expect 1 "get-data: acl/Made/train: is not 2 documents in neg and 2 in pos" \
    made --from acl --to new10
rm -r acl/Made/train/pos
expect 1 "get-data: acl/Made/train: has no folder pos" made --from acl --to new10
is_gone new10

# A set of which one file will do: those that are there, some checked by size.
cat >>bin/data-sets <<END
set many anybody's
archive many 2000000 file://$work/zip/large.zip
archive many 1000000 file://$work/none/small.zip
either many a.txt 8 - large.zip
either many b.txt 6 - small.zip
either many part.txt 6 $(sum_of in/b.txt) -
END
bin/get-data >out
tail -n 5 out | cmp -s - /dev/fd/3 3<<END || fail "not listed"
many: one of
    many/a.txt: 0.0 MB, fetched as 2.0 MB
    many/b.txt: 0.0 MB, fetched as 1.0 MB
    many/part.txt: 0.0 MB, not published
    anybody's
END
expect 0 "many: anybody's
many/a.txt: put into new11
many/b.txt: put into new11" many --from from --to new11
holds new11/many a.txt
mkdir parts
gzip -c in/b.txt >parts/part.txt.gz
expect 0 "many: anybody's
many/part.txt: put into new12" many --from parts --to new12
expect 1 "get-data: no file or archive of many is below empty" many \
    --from empty --to new13
echo longer >parts/b.txt
expect 1 "get-data: parts/b.txt: has 7 bytes, must have 6" many --from parts \
    --to new13
expect 1 "get-data: part.txt is not published; --from DIR takes it" \
    many/part.txt --to new13
expect 1 "get-data: none of part.txt, part.txt.gz, part.txt.xz is below empty" \
    many/part.txt --from empty --to new13
is_gone new13

# Of an archive only the file that is asked for.
if command -v curl >/dev/null && command -v python3 >/dev/null; then
    mkdir zip
    (cd in && python3 -m zipfile -c ../zip/large.zip a.txt b.txt)
    expect 0 "many: anybody's
many: fetching file://$work/zip/large.zip
many/a.txt: put into new14" many --to new14
    holds new14/many a.txt
    [ "$(ls -A new14/many)" = a.txt ] || fail "new14 holds more than a.txt"
fi
