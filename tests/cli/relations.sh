# Tables that say their own types: Weka's .arff and sktime's .ts, beside the same values as .csv.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import scipy.io.arff' 2>/dev/null && python=$try && break; done
with() { expect 0 "$wick" train --epochs 3 --threads 1 --quiet --force "$@"; }
# flowers N SEED: petal, sepal, colour (blanks and a quote in its names), kind
flowers() {
    awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); split("pale blue|dark \"red\"|white", colour, "|")
        for (i = 0; i < n; i++) { k = i % 3; printf "%.3f|%.2e|%s|%s\n", k + rand(), 10 * k - 5 * rand(), colour[1 + int(3 * rand())], (k == 2 ? "iris, wild" : "kind" k) } }'
}
mkdir -p arff csv
for part in train test; do
    [ $part = train ] && n=90 || n=30
    flowers $n $n >rows
    { printf '%% flowers\n@RELATION flowers\n\n@attribute petal numeric %% cm\n@ATTRIBUTE '"'sepal width'"' REAL\n@attribute colour {'"'pale blue'"', "dark \\"red\\"", white}\n@attribute class {kind0,kind1,'"'iris, wild'"'}\n\n@Data\n'
      awk -F '|' 'NR == 5 { print "% a remark between rows\n" } { gsub("\"", "\\\"", $3); printf "%s, %s,\x27%s\x27,\t\"%s\"\n", (NR == 7 ? "?" : $1), $2, $3, $4 }' rows; } >arff/$part.arff
    { echo 'petal,sepal width,colour,class'; awk -F '|' '{ gsub("\"", "\"\"", $3); printf "%s,%s,\"%s\",\"%s\"\n", (NR == 7 ? "" : $1), $2, $3, $4 }' rows; } >csv/$part.csv
done

test_arff() {
    with --data csv --out of_csv && with --data arff --out of_arff && same_tensors of_csv/last.safetensors of_arff/last.safetensors
    expect 0 "$wick" eval of_arff --json && cp out arff.json && expect 0 "$wick" eval of_csv --json && [ "$(json arff.json accuracy)" = "$(json out accuracy)" ] && [ "$(json out images)" = 30 ] || fail "another accuracy"
    expect 0 "$wick" eval of_csv --data arff/test.arff --split all --json && [ "$(json arff.json accuracy)" = "$(json out accuracy)" ] || fail "one model, two files"
    expect 0 "$wick" predict of_arff arff/test.arff --json && valid_json out && has out '"iris, wild"' && expect 0 "$wick" data stats arff/train.arff && has out "sepal width" && has out 'dark "red"'
    # a file by itself, and the names that archives give
    mkdir -p archive && cp arff/train.arff archive/Flowers_TRAIN.arff && cp arff/test.arff archive/Flowers_TEST.arff && with --data archive --out named && same_tensors of_csv/last.safetensors named/last.safetensors
    with --data arff/train.arff --out alone && expect 0 "$wick" eval alone --json && [ "$(json out images)" = 22 ] || fail "alone: $(json out images)"
    with --data arff --target "sepal width" --skip class --out numbers && expect 0 "$wick" eval numbers --json && has out '"r2"' || fail numbers
    [ -n "$python" ] || { echo "  skipped: no scipy"; return 0; }
    # SciPy reads no quotes within lists of values
    mkdir -p scipy && for part in train test; do sed 's/\t//g; s/pale blue/pale_blue/; s/dark \\"red\\"/dark_red/; s/iris, wild/iris_wild/; s/sepal width/sepal_width/; s/["'"'"']//g' arff/$part.arff >scipy/$part.arff; done
    "$python" - <<'P' || fail "scipy reads something else"
import csv, math
from scipy.io import arff
for part in "train", "test":
    rows, meta = arff.loadarff(f"scipy/{part}.arff"); ours = list(csv.DictReader(open(f"csv/{part}.csv"))); plain = lambda t: t.replace('"', "").replace(", ", "_").replace(" ", "_"); assert meta.names() == [plain(k) for k in ours[0]] and len(rows) == len(ours)
    for a, b in zip(rows, ours):
        for v, cell in zip(a, b.values()): assert v.decode() == plain(cell) if isinstance(v, bytes) else v == float(cell or math.nan) or (math.isnan(v) and not cell), (a, b)
P
}
# wave DIMS N SEED FILE: series of 24, as .ts and .csv
wave() {
    awk -v dims="$1" -v n="$2" -v seed="$3" -v f="$4" 'BEGIN { srand(seed); ts = f ".ts"; table = f ".csv"
        print "# waves\n@problemName Waves\n@timeStamps false\n@missing true\n@univariate " (dims == 1 ? "true" : "false") "\n@equalLength true\n@seriesLength 24\n@classLabel true up down\n@data" >ts
        for (d = 0; d < dims; d++) for (t = 0; t < 24; t++) printf "%s,", (dims > 1 ? "d" d "_t" t : "t" t) >table; print "class" >table
        for (i = 0; i < n; i++) { if (i == 3) print "" >ts
            for (d = 0; d < dims; d++) for (t = 0; t < 24; t++) { v = sprintf("%.4f", (i % 2 ? t : 24 - t) / 8 + rand() + d); if (i == 2 && t == 5) { printf "%s%s", (t ? "," : ""), "?" >ts; printf "," >table } else { printf "%s%s", (t ? "," : ""), v >ts; printf "%s,", v >table } if (t == 23) printf ":" >ts }
            print (i % 2 ? "up" : "down") >ts; print (i % 2 ? "up" : "down") >table } }'
}
test_ts() {
    local dims
    for dims in 1 3; do
        mkdir -p ts$dims tsv$dims && wave $dims 60 $dims ts$dims/Waves_TRAIN && wave $dims 20 9 ts$dims/Waves_TEST && sed -i 's/^@data/@targetLabel false\n@data/' ts$dims/Waves_TEST.ts && mv ts$dims/Waves_TRAIN.csv tsv$dims/train.csv && mv ts$dims/Waves_TEST.csv tsv$dims/test.csv
        with --data ts$dims --arch tcn:$dims --out series$dims && with --data tsv$dims --arch tcn:$dims --out table$dims && same_tensors series$dims/last.safetensors table$dims/last.safetensors
        expect 0 "$wick" eval series$dims --json && [ "$(json out images)" = 20 ] && expect 0 "$wick" predict series$dims ts$dims/Waves_TEST.ts && has out up || fail "dims $dims"
    done
    mkdir -p numbers && printf '@equalLength true\n@targetLabel true\n@classLabel false\n@data\n' >numbers/train.ts && awk 'BEGIN { srand(1); for (i = 0; i < 40; i++) { a = rand(); b = rand(); print a "," b ":" a - b } }' >>numbers/train.ts && expect 0 "$wick" data stats numbers/train.ts && has out target && with --data numbers/train.ts --target target --out numbers_run
}
test_two_endings_of_an_archive() { # the .ts is read
    mkdir -p two && cp ts3/Waves_T*.ts two && cp arff/train.arff two/Waves_TRAIN.arff && cp arff/test.arff two/Waves_TEST.arff && with --data two --arch tcn:3 --out two_run && same_tensors series3/last.safetensors two_run/last.safetensors
}
test_options_of_other_data() { # as of any table
    for option in layout=nhwc image-size=8x8; do expect 2 "$wick" train --data arff/train.arff --out no --${option%=*} ${option#*=} && has err "--${option%=*} has no effect on"; done
}
# Each error names file and line.
test_what_is_wrong() {
    mkdir -p bad
    arff() { sed "$1" arff/train.arff >bad/train.arff && expect 3 "$wick" train --data bad/train.arff --out no && has err "bad/train.arff: $2" && has err "$3"; }
    arff '12s/.*/1, 2, white/' "line 12" "has 3 values, and there are 4 attributes" && arff '12s/.*/1, 2, white, kind0, 4/' "line 12" "has 5 values" && arff '12s/.*/1, x, white, kind0/' "line 12" 'value 2 is no number: "x"' && arff '12s/.*/1, 2, green, kind0/' "line 12" "none of its attribute's"
    arff "12s/.*/1, 2, 'white, kind0/" "line 12" "a quote that does not end" && arff '12s/.*/{0 1, 2 white}/' "line 12" "rows between braces" && arff '12s/.*/1, 2, white, kind0,/' "line 12" "a comma at its end" && arff '4s/numeric/number/' "line 4" '"number" is no type' && arff '6s/}//' "line 6" "no } behind" && arff '4s/@attribute/@attribut/' "line 4" "is none of relation, attribute and data" && arff '9d' "line 9" "@data is missing"
    arff '9q' "has no row" "behind @data" && arff '8q' "has no line @data" "" && arff '4s/.*/@attribute/' "line 4" "an attribute without a name"
    ts() { sed "$1" ts3/Waves_TRAIN.ts >bad/train.ts && expect 3 "$wick" train --data bad/train.ts --out no && has err "bad/train.ts: $2" && has err "$3"; }
    ts '11s/:up$//; 11s/:down$//' "line 11" "has not the 3 dimensions of the first row, and its class" && ts '11s/^[^,]*,//' "line 11" "dimension 1 has 23 values, and those of the first row have 24" && ts '11s/^[^,]*/x/' "line 11" 'value 1 of dimension 1 is no number: "x"' && ts '11s/$/:more/' "line 11" "more behind it" && ts '6s/true/false/' "line 6" "series of several lengths" && ts '3s/false/true/' "line 3" "time stamps" && ts '9q' "has no row" "behind @data" && ts '9d' "line 9" "@data is missing"
}
test_main
