#!/usr/bin/env bash
# wick train, eval and predict of data that other machines have: the samples are those of the same files here, and what
# goes wrong is said. The server is that of tests/data. Skipped where there is no Python or no libcurl.
server=$(cd "$(dirname "$0")/../data" && pwd)/remote_server.py
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
export WICK_CACHE=$scratch/kept
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_REGION
mkdir far
servers=()
trap 'kill "${servers[@]}" 2>/dev/null; rm -rf "$scratch"' EXIT
serve() { # OPTION...: sets port
    : >port
    python3 "$server" far --log requests "$@" >port &
    servers+=($!)
    for _ in $(seq 200); do [ -s port ] && break; sleep 0.05; done
    port=$(cat port)
    base=http://127.0.0.1:$port
}
awk 'BEGIN { srand(3); print "a,b,label"; for (i = 0; i < 300; i++) { a = rand(); b = rand(); printf "%f,%f,%s\n", a, b, (a > b) ? "yes" : "no" } }' >far/set.csv
{ head -n 201 far/set.csv; } >far/train.csv
{ head -n 1 far/set.csv && tail -n 100 far/set.csv; } >far/test.csv
mkdir far/pictures && make_data far/pictures 120 40 8
shard() { # NAME FIRST LAST: a shard of WebDataset's, two classes
    rm -rf shard && mkdir shard
    for i in $(seq "$2" "$3"); do
        { printf 'P5\n4 4\n255\n' && head -c 16 /dev/zero | tr '\0' "$([ $((i % 2)) = 0 ] && echo '\100' || echo '\300')"; } >shard/$i.pgm
        printf '%d' $((i % 2)) >shard/$i.cls
    done
    tar -C shard --format=ustar --sort=name -cf "far/$1" .
}
shard train-000.tar 100 139 && shard train-001.tar 140 179 && shard test-000.tar 180 199
mkdir divided && cp far/train.csv far/test.csv divided
mkdir shards && cp far/*.tar shards
quick=(--hidden 8 --epochs 2 --batch 32 --threads 1 --quiet)
same_run() { # LOCAL URL: the same bits are learned of both
    rm -rf here there
    expect 0 "$wick" train --data "$1" "${quick[@]}" --out here
    expect 0 "$wick" train --data "$2" "${quick[@]}" --out there
    same_tensors here/last.safetensors there/last.safetensors
    grep -aqF "\"data\":\"$2\"" there/last.safetensors || fail "the model does not say $2"
}

serve
"$wick" train --data "$base/set.csv" "${quick[@]}" --out first >out 2>err || { grep -q libcurl err && echo "no libcurl" && exit 77; }
test_what_a_url_names_is_learned_as_what_is_here() {
    same_run far/set.csv "$base/set.csv"
    same_run divided "$base/{train,test}.csv"
    same_run shards "$base/{train-{000..001},test-000}.tar"
    same_run far/pictures "$base/pictures/{train-images-idx3-ubyte,train-labels-idx1-ubyte,t10k-images-idx3-ubyte,t10k-labels-idx1-ubyte}"
}
test_a_server_that_fails_is_asked_again() {
    local quiet=$base
    serve --faults 0.5 --seed 1
    WICK_CACHE=$scratch/again same_run shards "$base/{train-{000..001},test-000}.tar"
    grep -qE 'cut|reset|503' requests || fail "no request failed"
    base=$quiet
}
test_eval_and_predict_take_urls() {
    rm -rf there && expect 0 "$wick" train --data "$base/{train,test}.csv" "${quick[@]}" --out there
    expect 0 "$wick" eval there --threads 1 && cp out of_url && has err "2 files, 0 MB fetched"
    expect 0 "$wick" eval there --data divided --threads 1 && cmp of_url out || fail "the figures differ"
    expect 0 "$wick" predict there far/test.csv --index 3 --json && sed 's|"file": "[^"]*"||' out >local.json
    expect 0 "$wick" predict there "$base/test.csv" --index 3 --json && has out "$base/test.csv"
    cmp local.json <(sed 's|"file": "[^"]*"||' out) || fail "predictions differ"
    rm -rf held && expect 0 "$wick" train --data "$base/train.csv" --validation "$base/test.csv" "${quick[@]}" --out held
    expect 0 "$wick" train --resume held --epochs 3
}
test_a_second_run_fetches_nothing() {
    expect 0 "$wick" train --data "$base/{train,test}.csv" "${quick[@]}" --force --out again
    expect 0 "$wick" train --data "$base/{train,test}.csv" --hidden 8 --epochs 1 --threads 1 --force --out again
    has err "2 files, 0 MB fetched"
}
test_ranks_of_one_machine_fetch_a_file_once() {
    : >requests
    WICK_CACHE=$scratch/shared expect 0 "$wick" launch -n 3 "$wick" train --data "$base/set.csv" --leaves 4 "${quick[@]}" --out ranks
    [ "$(grep -c ' 200$' requests)" = 1 ] || fail "$(cat requests)"
}
test_what_goes_wrong_is_said() {
    run() { expect "$1" "$wick" train --data "$2" "${quick[@]}" --out bad && has err "$3"; }
    run 3 "$base/nothing.csv" "/nothing.csv: the server answers 404: NoSuchKey"
    run 3 "$base/{train,nothing}.csv" "/nothing.csv: the server answers 404"
    run 3 "$base/set.csv?unframed" "does not say how long it is"
    run 3 "$base/" "names no file"
    run 3 "$base/{train,test.csv" "its braces do not pair"
    run 3 "$base/{train,x/train}.csv" "two files have the name train.csv"
    run 3 "$base/{9..2}.csv" "{9..2} names no file"
    WICK_CACHE_BYTES=1000 WICK_CACHE=$scratch/small run 3 "$base/set.csv" "has 1000"
    WICK_CACHE_BYTES=6000 WICK_CACHE=$scratch/small run 3 "$base/{train,test}.csv" "WICK_CACHE_BYTES"
    WICK_CACHE_BYTES=many run 3 "$base/set.csv" "WICK_CACHE_BYTES=many: a number of bytes"
    WICK_CACHE=/dev/null/x run 3 "$base/set.csv" "/dev/null"
    [ ! -e bad ] || fail "a folder was made"
}
test_s3_is_signed_and_its_refusals_are_said() {
    local quiet=$base
    mkdir -p far/bucket && cp far/train.csv far/test.csv far/bucket
    serve --keys KEY:SECRET:TOKEN
    export AWS_ENDPOINT_URL=$base AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=SECRET AWS_SESSION_TOKEN=TOKEN
    same_run divided "s3://bucket/{train,test}.csv"
    AWS_SESSION_TOKEN=OVER WICK_CACHE=$scratch/s3 expect 3 "$wick" train --data "s3://bucket/train.csv" --out bad
    has err "s3://bucket/train.csv: the server answers 403: InvalidToken"
    AWS_SECRET_ACCESS_KEY=WRONG WICK_CACHE=$scratch/s3 expect 3 "$wick" eval there --data "s3://bucket/train.csv"
    has err "403: SignatureDoesNotMatch"
    unset AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
    base=$quiet
}
test_main
