# wick data: what is packed comes back as it was, from folders, archives and IDX; what is broken is found; wrong uses are refused. Python's own readers are asked where they are.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden" && pwd)
python=$(command -v python3 || true)
make_data idx 60 20 6
make_photos() {
    mkdir -p photos/cat photos/dog/deep photos/.hidden
    cp "$golden"/images/grey8.png photos/cat/a.png
    cp "$golden"/images/rgb8.png photos/cat/b.png
    cp "$golden"/images/color420.jpg photos/dog/c.jpg
    cp "$golden"/images/rgb8.png photos/dog/deep/d.png
    cp "$golden"/images/rgb8.png photos/.hidden/e.png
    echo words >photos/readme.txt
}
make_photos
tar -cf photos.tar photos && gzip -kf photos.tar
same() { diff -r "$1" "$2" >differ 2>&1 || fail "$1 and $2 differ: $(head -n 3 differ)"; }
wanted() { rm -rf want && cp -r "$1" want && rm -rf want/.hidden want/readme.txt; }

test_a_folder_comes_back_as_it_was() {
    wanted photos
    for compression in none lz4 zstd; do
        rm -rf p.wrec back
        expect 0 "$wick" data pack photos p.wrec --compression $compression || { has err "not on this machine" && continue; }
        has err "4 files" && has err "1 files of other kinds"
        expect 0 "$wick" data unpack p.wrec back && same want back
        expect 0 "$wick" data info p.wrec && has out "4 files" && has out "cat, deep, dog" && has out "$compression"
        expect 0 "$wick" data verify p.wrec && has out "all 4 are sound"
        expect 0 "$wick" data unpack p.wrec p2.tar && mkdir tarred && tar -xf p2.tar -C tarred && same want tarred
        rm -rf p2.tar tarred
    done
    rm -f all.wrec && expect 0 "$wick" data pack photos all.wrec --all && expect 0 "$wick" data info all.wrec && has out "5 files"
}
test_bench_tells_how_fast_batches_come() {
    mkdir -p set/train/cat set/train/dog
    for i in 1 2 3 4 5; do cp "$golden"/images/rgb8.png set/train/cat/$i.png && cp "$golden"/images/grey8.png set/train/dog/$i.png; done
    expect 0 "$wick" data pack set bench.wrec
    for path in idx set set/train bench.wrec; do
        expect 0 "$wick" data bench $path --batch 4 --workers 0,2 --time 0.1 --adaptive && has out "samples/s"
        expect 0 "$wick" data bench $path --batch 4 --workers 0,2 --time 0.1 --transform "crop=2,flip,normalise" && has out "samples/s"
        [ "$(wc -l <out)" = 4 ] || fail "$(wc -l <out) lines"
        tail -n 1 out | grep -Eq "wait|Too few" || fail "nobody waits: $(tail -n 1 out)"
        expect 0 "$wick" data bench $path --batch 4 --workers 1 --time 0.1 --json && valid_json out && has out '"efficiency"' && has out '"p99"' && has out '"io_wait"'
        expect 0 "$wick" data bench $path --batch 4 --workers 0,1 --time 0.1 --cache 1 && [ "$(grep -c ' hits, ' out)" = 2 ] || fail "no word of the cache"
    done
    echo broken >set/train/dog/2.png
    expect 3 "$wick" data bench set --time 0.1 && has err "set/train/dog/2.png"
    expect 0 "$wick" data bench set --time 0.1 --skip && has err "could not be read"
    expect 2 "$wick" data bench idx --workers 0,x
    expect 2 "$wick" data bench idx --transform blur
    expect 2 "$wick" data info idx --workers 1 && has err "it is for bench"
    expect 3 "$wick" data bench nowhere
}
test_an_archive_is_what_its_files_are() {
    expect 0 "$wick" data pack photos.tar.gz t.wrec && rm -rf back && expect 0 "$wick" data unpack t.wrec back
    wanted photos && same want back/photos
    if command -v zstd >/dev/null; then
        zstd -qf photos.tar -o photos.tar.zst
        expect 0 "$wick" data pack photos.tar.zst z.wrec && cmp -s t.wrec z.wrec || fail "not the same from .tar.zst"
    fi
    expect 0 "$wick" data info photos.tar --json && valid_json out && [ "$(json out form)" = tar ] && [ "$(json out count)" = 4 ] || fail "info of an archive"
    expect 2 "$wick" data split photos.tar parts && has err "wick data pack"
    long=$(printf 'x%.0s' {1..120}).png && mkdir -p names/a && cp "$golden"/images/rgb8.png "names/a/$long"
    expect 0 "$wick" data pack names n.wrec && expect 0 "$wick" data unpack n.wrec names.tar && tar -tf names.tar >list && has list "a/$long"
    if [ -n "$python" ]; then # another reader of the archive that was written
        "$python" -c 'import sys, tarfile; print([(m.name, m.size) for m in tarfile.open("names.tar")])' >list && has list "a/$long"
    fi
}
test_arrays_come_back_as_they_were() {
    expect 0 "$wick" data pack idx i.wrec && expect 0 "$wick" data info i.wrec --json && valid_json out && has out '"array": "u8 [6, 6]"'
    rm -rf back && expect 0 "$wick" data unpack i.wrec back
    cmp idx/train-images-idx3-ubyte back/images-idx3-ubyte || fail "other images"
    cmp idx/train-labels-idx1-ubyte back/labels-idx1-ubyte || fail "other labels"
    expect 0 "$wick" data pack idx test.wrec --split test && expect 0 "$wick" data info test.wrec && has out "20 arrays"
    expect 0 "$wick" data pack idx/train-images-idx3-ubyte one.wrec && expect 0 "$wick" data info one.wrec && has out "60 arrays" && has out "classes         0"
    printf '\0\0\x0d\x02\0\0\0\x02\0\0\0\x03\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\xbf\x80\0\0\0\0\0\0\x3f\0\0\0' >floats-idx2
    rm -rf back && expect 0 "$wick" data pack floats-idx2 f.wrec && expect 0 "$wick" data head f.wrec && has out "#0: 1 2 3" && has out "#1: -1 0 0.5"
    expect 0 "$wick" data unpack f.wrec back && cmp floats-idx2 back/images-idx2-ubyte || fail "other floats"
}
test_more_is_appended_and_what_stops_it_loses_nothing() {
    rm -rf more back && mkdir -p more/dog && cp "$golden"/images/rgb8.png more/dog/x.png && cp "$golden"/images/grey8.png more/dog/y.png
    for compression in none zstd; do
        rm -rf p.wrec back both
        expect 0 "$wick" data pack photos p.wrec --compression $compression || { has err "not on this machine" && continue; }
        cp p.wrec before.wrec
        expect 0 "$wick" data pack more p.wrec --append --json && valid_json out && has out '"appended": true' && [ "$(json out count)" = 2 ] || fail "$(json out count) added"
        expect 0 "$wick" data verify p.wrec && has out "all 6 are sound"
        expect 0 "$wick" data info p.wrec --json && [ "$(json out parts)" = 2 ] && [ "$(json out classes)" = 3 ] || fail "parts or classes"
        wanted photos && cp -r want both && cp more/dog/* both/dog
        expect 0 "$wick" data unpack p.wrec back && same both back
        # dog is class 0 of what was added, and 2 of the file
        expect 0 "$wick" data stats p.wrec --json && tr -d ' \n' <out >flat && has flat '"name":"cat","count":2},{"name":"deep","count":1},{"name":"dog","count":3}'
        # Killed anywhere, it is as it was, and may be added to again.
        old=$(stat -c %s before.wrec) new=$(stat -c %s p.wrec)
        for at in $old $((old + 1)) $((old + 64)) $(((old + new) / 2)) $((new - 1)); do
            { head -c "$old" p.wrec && head -c $((at - old > 64 ? 64 : at - old)) /dev/zero && tail -c +$((old + 65)) p.wrec | head -c $((at > old + 64 ? at - old - 64 : 0)); } >killed.wrec
            expect 0 "$wick" data verify killed.wrec && has out "all 4 are sound"
            expect 0 "$wick" data pack more killed.wrec --append && cmp p.wrec killed.wrec || fail "not the same after $((at - old)) bytes"
        done
    done
    rm -f i.wrec && expect 0 "$wick" data pack idx i.wrec && cp i.wrec j.wrec && expect 0 "$wick" data pack idx i.wrec --split test --append && expect 0 "$wick" data info i.wrec && has out "80 arrays"
    expect 2 "$wick" data pack photos j.wrec --append && has err "j.wrec: holds array, and photos holds files"
    expect 0 "$wick" data info j.wrec && has out "60 arrays" && lacks out tail
    mkdir -p birds/bird && cp "$golden"/images/rgb8.png birds/bird && cp p.wrec q.wrec
    expect 2 "$wick" data pack birds q.wrec --append && has err 'class "bird" of birds is none of its 3' && cmp p.wrec q.wrec || fail "a class was made up"
    expect 2 "$wick" data pack more p.wrec --append --compression zstd && has err "has its own"
    expect 1 "$wick" data pack more none.wrec --append && has err none.wrec
    expect 2 "$wick" data info p.wrec --append && has err "it is for pack"
    expect 2 "$wick" data pack p.wrec p.wrec --append && has err "written over"
}
test_what_is_there_is_not_overwritten() {
    expect 0 "$wick" data pack photos p.wrec && mkdir -p there && echo mine >there/mine
    expect 1 "$wick" data unpack p.wrec there && has err "is there already" && [ "$(ls there)" = mine ] || fail "there was changed"
    expect 2 "$wick" data pack p.wrec p.wrec && has err "written over"
    expect 1 "$wick" data pack photos nowhere/p.wrec && has err nowhere
    [ -z "$(find . -name '*.tmp-*')" ] || fail "left behind: $(find . -name '*.tmp-*')"
}
test_damage_is_found_and_named() {
    rm -rf bad && cp -r photos bad && head -c 60 "$golden"/images/rgb8.png >bad/cat/b.png && echo none >bad/dog/c.jpg
    expect 3 "$wick" data verify bad && has out "2 of 4 are broken" && has out "cat/b.png" && has out "dog/c.jpg"
    expect 3 "$wick" data stats bad --json && valid_json out && [ "$(json out n_broken)" = 2 ] && [ "$(json out exit)" = 3 ] && has out '"error": "bad: 2 of 4 are broken"' || fail "not two"
    expect 3 "$wick" data head bad --json && valid_json out && [ "$(json out exit)" = 3 ] || fail "no exit code"
    expect 0 "$wick" data verify photos
    expect 0 "$wick" data pack idx d.wrec && cp d.wrec cut.wrec
    printf '\xff' | dd of=cut.wrec bs=1 seek=400 conv=notrunc 2>/dev/null
    expect 3 "$wick" data verify cut.wrec --json && valid_json out && has out "(byte " && [ "$(json out n_broken)" = 1 ] || fail "not one"
    expect 3 "$wick" data pack cut.wrec again.wrec && has err "checksum is wrong" && [ ! -e again.wrec ] || fail "a damaged one was packed"
    head -c 900 d.wrec >cut.wrec
    expect 3 "$wick" data info cut.wrec && has err "cut.wrec: part 0 (byte " && has err "cut off"
    expect 0 "$wick" data info cut.wrec --salvage && has out "0 arrays" && has out "tail"
    head -c 2000 photos.tar.gz >cut.tar.gz
    expect 3 "$wick" data verify cut.tar.gz && has err cut.tar.gz
    expect 3 "$wick" data info nowhere && has err nowhere
    { cat d.wrec; head -c 200 /dev/zero; } >torn.wrec
    expect 0 "$wick" data verify torn.wrec && has err "an append that did not finish"
}
test_names_lead_nowhere_else() { # a record file by hand: two bytes of length, the name, the bytes
    [ -n "$python" ] || return 0
    for name in ../evil /tmp/evil a/../../evil a//evil ""; do
        "$python" - "$name" <<'EOF'
import struct, sys
table = []
for b in range(256):
    for _ in range(8):
        b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
    table.append(b)
def crc(data):
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ table[(c ^ b) & 255]
    return c ^ 0xFFFFFFFF
seal = lambda d: (d := d + bytes(60 - len(d))) + struct.pack("<I", crc(d))
pad = lambda d: d + bytes(-len(d) % 64)
name = sys.argv[1].encode()
record, meta = struct.pack("<H", len(name)) + name + b"hello", b"kind files\n"
head = pad(seal(b"WICKREC\n" + struct.pack("<IIIIIIQ", 1, 0, len(meta), crc(meta), 0, 0, 0)) + meta)
index = struct.pack("<QIIIi", len(head) + 64, len(record), len(record), crc(record), -1)
open("evil.wrec", "wb").write(head + seal(b"RECPART\n" + struct.pack("<QQQQI", len(head), 0, 1, len(record), crc(index))) + pad(record) + pad(index))
EOF
        rm -rf back && expect 3 "$wick" data unpack evil.wrec back && has err "no name for a file" && [ ! -e back ] && [ ! -e evil ] || fail "'$name' was written"
        expect 3 "$wick" data unpack evil.wrec back.tar && [ ! -e back.tar ] || fail "'$name' is in an archive"
    done
}
test_head_draws() {
    expect 0 "$wick" data head photos && has out "#0 cat/a.png: cat, " && has out "#3 dog/deep/d.png: deep"
    LC_ALL=C grep -q $'\x1b' out && fail "colours in a pipe, with NO_COLOR"
    expect 0 "$wick" data head photos --color always && LC_ALL=C grep -q $'\x1b\[38;2;' out || fail "no 24-bit colours"
    expect 0 "$wick" data head photos --from 3 && has out "#3 " && lacks out "#2 "
    expect 0 "$wick" data head photos --json --count 2 && valid_json out && has out '"what": "picture"' && lacks out '"index": 2'
    expect 0 "$wick" data head idx --count 1 && has out "#0: "
    expect 2 "$wick" data head photos --from 4 && has err "counted from 0"
    expect 2 "$wick" data head photos --svg x.svg && has err "recordings"
    mkdir -p sounds/beep && cp "$golden"/audio/*16*.wav sounds/beep/ 2>/dev/null || cp "$golden"/audio/*.wav sounds/beep/
    expect 1 "$wick" data head sounds --count 1 --svg no/such/x.svg --json && valid_json out && has out '"ok": false' && has out '"exit": 1' && has out '"error": ' && lacks out '"ok": true' && [ "$(grep -c '"ok"' out)" = 1 ]
    expect 2 "$wick" data head photos --svg x.svg --json && valid_json out && has out '"ok": false' && lacks out '"ok": true'
    expect 0 "$wick" data head sounds --count 1 --svg x.svg && has out " Hz" && has x.svg "<svg" && has x.svg "kHz" && has x.svg "data:image/png"
    [ -z "$python" ] || "$python" -c 'import xml.etree.ElementTree as e; e.parse("x.svg")' || fail "no XML"
}
test_stats_are_pythons() {
    [ -n "$python" ] || return 0
    expect 0 "$wick" data stats idx --json && valid_json out && mv out stats
    "$python" - <<'EOF' || fail "other stats"
import collections, json, math
got = json.load(open("stats"))
x = open("idx/train-images-idx3-ubyte", "rb").read()[16:]
y = open("idx/train-labels-idx1-ubyte", "rb").read()[8:]
mean = sum(x) / len(x) / 255
std = math.sqrt(max(0, sum(v * v for v in x) / len(x) / 255**2 - mean**2))
assert abs(got["mean"][0] - mean) < 1e-8 and abs(got["std"][0] - std) < 1e-8, (got["mean"], mean, got["std"], std)
counts = collections.Counter(y)
assert [c["count"] for c in got["classes"]] == [counts[k] for k in range(len(got["classes"]))], got["classes"]
assert got["count"] == 60 and got["bytes"] == len(x)
EOF
}
test_split_keeps_the_share_of_each_class() {
    rm -rf parts && expect 0 "$wick" data split idx parts --part train=0.7 --part valid=0.2 --part test=0.1
    for part in train valid test; do "$wick" data stats parts/$part.wrec --json >$part.json || fail "stats of $part"; done
    [ "$(($(json train.json count) + $(json valid.json count) + $(json test.json count)))" = 60 ] || fail "not 60 together"
    expect 0 "$wick" data stats idx --json
    if [ -n "$python" ]; then
        "$python" - <<'EOF' || fail "not stratified"
import json
whole = [c["count"] for c in json.load(open("out"))["classes"]]
parts = {p: [c["count"] for c in json.load(open(p + ".json"))["classes"]] for p in ("train", "valid", "test")}
for k, n in enumerate(whole):
    assert sum(parts[p][k] for p in parts) == n
    assert abs(parts["train"][k] - 0.7 * n) <= 1 and abs(parts["test"][k] - 0.1 * n) <= 1, (k, n, parts)
EOF
    fi
    cp -r parts same && rm -rf parts && expect 0 "$wick" data split idx parts --part train=0.7 --part valid=0.2 --part test=0.1 && same parts same
    rm -rf parts && expect 0 "$wick" data split idx parts --seed 2 && [ "$(ls parts | tr '\n' ' ')" = "test.wrec train.wrec " ] || fail "other parts"
    for wrong in train=0 train=1.1 train= =0.5 a/b=0.5 train=x train; do expect 2 "$wick" data split idx parts --part $wrong && has err "NAME=SHARE"; done
    expect 2 "$wick" data split idx parts --part a=0.6 --part b=0.6 && has err "more than 1"
    expect 2 "$wick" data split idx parts --part a=0.6 --part a=0.2 && has err "another of that name"
}
test_other_commands_know_what_it_is() {
    expect 0 "$wick" data pack idx k.wrec && expect 3 "$wick" verify k.wrec && has err "a record file" && has err "wick data verify k.wrec"
}
test_wrong_uses() {
    expect 2 "$wick" data && has err "needs ACTION"
    expect 2 "$wick" data pak photos p.wrec && has err "did you mean pack"
    expect 2 "$wick" data info && has err "PATH"
    expect 2 "$wick" data info a b
    expect 2 "$wick" data pack photos && has err "TO"
    expect 2 "$wick" data info photos --compression zstd && has err "it is for pack and split"
    expect 2 "$wick" data stats photos --count 3 && has err "it is for head"
    expect 2 "$wick" data pack photos p.wrec --dictionary 16 && has err "for --compression zstd"
    expect 2 "$wick" data pack photos p.wrec --level 3 && has err "for --compression zstd or lz4"
    expect 2 "$wick" data pack photos p.wrec --compression lz4 --level 13 && has err "--level of lz4 must be from 2 to 12, not 13"
    mkdir -p hollow && expect 3 "$wick" data pack hollow h.wrec && has err "holds nothing"
}
test_main
