# Tables and tensors: what was learned of the training data is what all others are read by; what is no table of classes is refused before training.
. "$(dirname "$0")/lib.sh"
net="flatten, linear 16, relu, linear classes"
train() { # CODE DATA OUT [OPTION...]
    expect "$1" "$wick" train --data "$2" --net "$net" --epochs 30 --batch 16 --lr 0.01 --threads 1 --force --out "$3" "${@:4}"
}
accuracy() { # RUN LEAST [OPTION...]: of the test, or of what the options say
    expect 0 "$wick" eval "$1" --json "${@:3}" && awk -v a="$(json out accuracy)" -v b="$2" 'BEGIN { exit !(a >= b) }' || fail "accuracy of $1 is $(json out accuracy), not $2"
}
# rows SEED N AWK: a header in a file `head`, and N rows that the program prints, of i, u and v
rows() { awk -v seed="$1" -v n="$2" "function r() { return 4 * rand() - 2 } BEGIN { srand(seed); for (i = 0; i < n; i++) { u = sprintf(\"%.3f\", r()); v = sprintf(\"%.3f\", r()); $3 } }"; }

# ---- each file by the coding of the training -------------------------------------------------------------------------------------------------------
test_categories_are_those_of_the_training() {
    mkdir -p cat
    { echo cat,z,label; rows 1 300 'k = i % 4; print substr("abcd", k + 1, 1) "," u / 9 "," substr("xyzx", k + 1, 1)'; } >cat/train.csv
    { echo z,cat,extra,label; rows 2 120 'k = i % 3 + 1; print u / 9 "," substr("abce", k + 1, 1) ",7," substr("xyzx", k + 1, 1)'; } >cat/test.csv
    train 0 cat cat_run && has err '1 column is of categories: "cat" (4)' && has err "not learned from and is passed over: \"extra\"" && has err "40 cells are of categories that are not among the coding's 4, the first \"e\" in line 4"
    expect 0 "$wick" eval cat_run --json && grep -A1 '"name": "y"' out | grep -q . && [ "$(grep -o '"recall": [^,]*' out | sed -n 2,3p | sort -u)" = '"recall": 1' ] || fail "b and c of the test are not all right: $(cat out | head -c 600)"
    sed '/e,7/d' cat/test.csv >other.csv && accuracy cat_run 1 --data other.csv && [ "$(json out images)" = 80 ] && has err "all of it is taken" || fail "not all of other.csv"
    accuracy cat_run 1 --data other.csv --split test && [ "$(json out images)" = 16 ]
    # Rows without a class, in another form.
    sed 's/,[xyz]$//; s/,label//' other.csv | tr , ';' >ask.csv
    expect 0 "$wick" predict cat_run ask.csv --index 0,1 && has out "#0: taken for y" && has out "#1: taken for z"
    expect 0 "$wick" predict cat_run ask.csv --json && valid_json out && has out '"predicted_name": "y"' && has err "the first 16"
    expect 0 "$wick" convert cat_run cat.onnx && has err "the 5 numbers that rows of the table are coded as" && grep -aq '"category","cat","a","b","c","d"' cat.onnx || fail "the coding is not in cat.onnx"
    # What does not fit.
    printf 'a,b\n1,2\n' >none.csv && expect 3 "$wick" eval cat_run --data none.csv && has err 'none of its columns is one of the 2 that were learned from'
    printf 'cat,z,label\na,1,x\nb,1,w\n' >new.csv && expect 3 "$wick" eval cat_run --data new.csv && has err 'line 3: column "label": "w" is not among the classes'
    expect 0 "$wick" predict cat_run new.csv
    local run
    for run in shift subset; do
        case_folder csv-categories || return 0
        train 0 "$dir/$run" "case_$run"
    done
    accuracy case_subset 1 && expect 0 "$wick" eval case_shift --json && [ "$(grep -o '"recall": [^,]*' out | sed -n 2,3p | sort -u)" = '"recall": 1' ] || fail "csv-categories"
}
test_columns_go_by_their_names() {
    mkdir -p order
    { echo u,v,label; rows 3 400 'print u "," v "," (u > 0 ? "p" : "q")'; } >order/train.csv
    { echo v,u,label; rows 4 200 'print v "," u "," (u > 0 ? "p" : "q")'; } >order/test.csv
    train 0 order order_run && accuracy order_run 0.97
    case_folder csv-column-order && train 0 "$dir/set" case_order && accuracy case_order 0.98
}
test_missing_values_become_the_means_of_the_training() {
    mkdir -p gap
    { echo u,v,label; rows 5 300 'print u "," v + 5 "," (u > 0 ? "p" : "q")'; } >gap/train.csv
    { echo u,v,label; rows 6 100 'print u ",," (u > 0 ? "p" : "q")'; } >gap/test.csv
    train 0 gap gap_run && has err '1 column has no value in any row: "v"' && accuracy gap_run 0.97 && lacks out nan
    # In one file the rows that are tested have no part in them.
    { echo a,row,label; awk 'BEGIN { for (i = 0; i < 100; i++) print (i % 10 ? i % 2 : "") "," i "," (i % 2 ? "odd" : "even") }'; } >one.csv
    train 0 one.csv one_run && metadata one_run/best.safetensors | grep -q '\\"number\\",\\"a\\",\\"0\.[0-9]*\\"' || fail "no mean in $(metadata one_run/best.safetensors | head -c 600)"
    case_folder csv-empty-column || return 0
    train 0 "$dir/set" case_gap && accuracy case_gap 0.98 && lacks out nan
    train 0 "$dir/trailing-comma.csv" case_comma && has err "1 column has no value in any row and is left out" && accuracy case_comma 0.9
    train 3 "$dir/huge.csv" case_huge && has err 'line 9: column "a": "1e400" is more than a number of 32 bits can hold'
}
test_a_resumed_run_has_the_coding_it_began_with() {
    mkdir -p again
    { echo cat,z,label; rows 1 300 'k = i % 4; print substr("abcd", k + 1, 1) "," u / 9 "," substr("xyzx", k + 1, 1)'; } >again/train.csv
    expect 0 "$wick" train --data again --net "$net" --epochs 2 --batch 16 --threads 1 --out went && expect 0 "$wick" train --resume went --epochs 3
    sed -i '2,60s/^a/f/' again/train.csv
    expect 3 "$wick" train --resume went --epochs 4 && has err "has changed since the run was started"
    expect 0 "$wick" report went -o went.html
}
test_classes_of_folders_go_by_their_names() {
    local golden
    golden=$(cd "$(dirname "$0")/../golden" && pwd)
    for class in cat dog; do mkdir -p pets/train/$class pets/test/$class && cp "$golden/images/rgb8.png" pets/train/$class/a.png && cp "$golden/images/rgb8.png" pets/test/$class/b.png; done
    expect 0 "$wick" train --data pets --net "flatten, linear classes" --epochs 1 --out pets_run --force
    mkdir -p dogs/test && cp -r pets/test/dog dogs/test/dog && expect 0 "$wick" eval pets_run --data dogs --json && grep -o '"images": 1, "predicted"' out >/dev/null || fail "the dog is not class dog"
    mkdir -p cows/test && cp -r pets/test/dog cows/test/cow && expect 3 "$wick" eval pets_run --data cows && has err 'is of class "cow", which is not among the 2 classes'
}

# ---- what is no set of classes ------------------------------------------------------------------------------------------------------------------------
test_targets_of_a_regression_are_no_classes() {
    { echo u,v,target; rows 7 200 'print u "," v "," u + v'; } >real.csv
    { echo u,v,target; rows 8 400 'print u "," v "," int(300 * rand() * rand()) + 25'; } >whole.csv
    { echo u,v,name; rows 9 100 'print u "," v ",person " i'; } >names.csv
    { echo u,v,zone; rows 10 400 'print u "," v "," i % 40'; } >zones.csv
    train 0 real.csv real --epochs 1 && has err '"target" has numbers that are not whole' && has err "by regression" && has err ", 65 parameters"
    train 0 whole.csv whole --epochs 1 && has err "almost as many numbers as a measurement has" && has err "different ones in 400 rows" && has err ", 65 parameters"
    train 0 whole.csv classes --task classify --epochs 1 && lacks err "by regression" && expect 0 "$wick" info classes && lacks out "regress"
    train 3 names.csv bad && has err "100 different texts in 100 rows, as names have"
    train 0 zones.csv zones --epochs 1
    train 0 zones.csv zones --skip "u|w*" --epochs 1 && has err ", 712 parameters" # 16 + 16 + 16 x 40 + 40
}
test_odd_cells_do_not_make_categories() {
    local text
    for text in '#N/A' -nan n/a NAN '<NA>'; do
        { echo a,b,label; rows 11 200 "print (i % 20 ? u : \"$text\") \",\" v \",\" (u > 0 ? \"yes\" : \"no\")"; } >odd.csv
        train 0 odd.csv odd --epochs 1 && has err ", 82 parameters" && lacks err categories
    done
    { echo a,b,label; rows 12 200 'print (i % 20 ? u : "12 cm") "," v "," (u > 0 ? "yes" : "no")'; } >odd.csv
    train 0 odd.csv odd --epochs 1 && has err ", 82 parameters" && has err 'column "a" is of numbers, and 10 of 200 cells are none, the first "12 cm" in line 2: they count as missing'
    { echo a,b,label; rows 13 200 'print (i % 4 ? i % 4 : "3+") "," v "," (u > 0 ? "yes" : "no")'; } >few.csv
    train 0 few.csv few --epochs 1 && has err '1 column is of categories: "a" (4)'
    { echo a,b,label; rows 15 200 'print "id " i "," v "," (v > 0 ? "yes" : "no")'; } >ids.csv
    train 0 ids.csv ids --epochs 1 && has err 'column "a" has 160 categories in 200 rows, as names and texts have' && has err '"a" (160)' && train 0 ids.csv ids --skip a --epochs 1 && lacks err categories
    case_folder csv-odd-cell || return 0
    for text in excel-na minus-nan n-a; do train 0 "$dir/$text.csv" "case_$text" && has err ", 82 parameters" && accuracy "case_$text" 0.9; done
    # a few numbers that are a thousand times the others: by their deviation the others are next to one number
    train 0 "$dir/thousands.csv" case_thousands --no-standardise && has err ", 82 parameters" && accuracy case_thousands 0.9
    train 0 "$dir/thousands.csv" case_thousands --no-standardise && has err '10 numbers with thousands separators, the first "1,234.5" in line 2'
}
test_forms_of_text_are_found_and_said() {
    { echo a,b,label; rows 14 200 'print u "," v "," (u > 0 ? "sch\xf6n" : "no")'; } >latin.csv
    tr , '^' <latin.csv >hat.csv
    train 0 latin.csv latin && has err "read as Windows-1252 (Latin-1)" && accuracy latin 0.9 && has out "schön"
    train 3 hat.csv hat && has err "has one column" && has err "--separator says it"
    train 0 hat.csv hat --separator '^' && accuracy hat 0.9
    tr ',.' ';,' <latin.csv >excel.csv && train 0 excel.csv excel && has err "separated by a semicolon, and numbers have a decimal comma" && accuracy excel 0.9
    accuracy latin 0.9 --data excel.csv
    { echo a,b,label; rows 14 400 'print u "," v "," (u > 0 ? "yes" : "no")'; } | tr ',.' ';,' >wide.csv
    train 3 wide.csv bad --decimal point && has err 'the most of "b" (' && has err "leave it out"
    tail -n +2 latin.csv >bare.csv && train 0 bare.csv headed --epochs 1 && has err "names of columns in the first line are numbers" && train 0 bare.csv bare --no-header --label 2 && accuracy bare 0.9
    expect 2 "$wick" train --data latin.csv --net "$net" --separator ab --out bad && has err "--separator 'ab' is neither a character nor tab"
    case_folder csv-messages || return 0
    local f
    for f in cr-only decimal-comma latin1 semicolon utf16; do train 0 "$dir/$f.csv" "case_$f" && accuracy "case_$f" 0.9; done
}

# ---- tensors ----------------------------------------------------------------------------------------------------------------------------------------------
# tensors FILE "NAME DTYPE DIMS BYTES"...: safetensors; of each array where its bytes are
tensors_file() {
    local file=$1 header= at=0 name dtype dims bytes
    shift
    : >body
    for array; do
        read -r name dtype dims bytes <<<"$array"
        printf "$(sed "s/$/ /" <<<"$bytes" | tr -d ' ')" >>body
        header+="${header:+,}\"$name\":{\"dtype\":\"$dtype\",\"shape\":[$dims],\"data_offsets\":[$at,$(stat -c %s body)]}"
        at=$(stat -c %s body)
    done
    header="{$header}"
    { printf "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256)))\0\0\0\0\0\0%s" "$header"; cat body; } >"$file"
}
repeat() { local i; for ((i = 0; i < $1; i++)); do printf '%s' "$2"; done; } # N TEXT
half='\0\0\0\x3f' one='\0\0\x80\x3f' zero='\0\0\0\0' nan='\0\0\xc0\x7f'
test_labels_are_whole_numbers() {
    local x="x F32 40,2 $(repeat 20 "$one$zero$zero$one")"
    tensors_file whole.safetensors "$x" "y F32 40 $(repeat 20 "$zero$one")" && train 0 whole.safetensors whole && accuracy whole 1
    tensors_file column.safetensors "$x" "y F32 40,1 $(repeat 20 "$zero$one")" && train 0 column.safetensors column && accuracy column 1
    tensors_file half.safetensors "$x" "y F32 40 $(repeat 20 "$half$one")" && train 0 half.safetensors halves --epochs 1 && has err "not whole" && has err "--task regress" && train 3 half.safetensors bad --task classify && has err '"y": row 0 is 0.5, which is not whole' 
    tensors_file nan.safetensors "$x" "y F32 40 $(repeat 20 "$zero$nan")" && train 3 nan.safetensors bad && has err '"y": row 1 is NaN'
    tensors_file below.safetensors "$x" "y I8 40 $(repeat 20 '\x01\xff')" && train 3 below.safetensors bad && has err '"y": row 1 is -1: classes are numbered from 0'
    tensors_file far.safetensors "$x" "y I32 40 $(repeat 20 '\0\0\0\0\0\0\0\x40')" && train 3 far.safetensors bad && has err '"y": row 39 is 1073741824' && has err "without gaps"
    tensors_file gap.safetensors "$x" "y U8 40 $(repeat 20 '\0\x03')" && train 0 gap.safetensors gap && has err '"y" numbers 4 classes, and 2 of them have no sample, the first is 1'
    tensors_file hot.safetensors "$x" "y F32 40,2 $(repeat 20 "$one$zero$zero$one")" && train 3 hot.safetensors bad && has err "numpy.argmax"
    tensors_file lost.safetensors "x F32 40,2 $(repeat 20 "$one$zero$nan$one")" "y U8 40 $(repeat 20 '\0\x01')" && train 3 lost.safetensors bad && has err '"x": sample 1 has NaN, number 0 of it'
    # A test without some of the classes, and with one that nobody learned.
    mkdir -p part && cp gap.safetensors part/train.safetensors
    tensors_file part/test.safetensors "x F32 2,2 $zero$one$one$zero" "y U8 2 \0\0" && train 0 part part
    tensors_file part/test.safetensors "x F32 2,2 $zero$one$one$zero" "y U8 2 \0\x09" && train 3 part part && has err '"y": row 1 is class 9, and the model knows 4'
    case_folder npz-labels-layout || return 0
    train 0 "$dir/half.npz" case_half --epochs 1 && has err "not whole" && has err "by regression"
    train 3 "$dir/biglab.npz" bad && has err '"y": row 299 is 1000000000' && has err "without gaps"
    train 0 "$dir/names.npz" named && has err '"class_names" has the names of the 3 classes' && expect 0 "$wick" eval named && has out "0 a" && has out "2 c"
    expect 0 "$wick" inspect "$dir/names.npz" && has out "3 texts: a ..." && expect 0 "$wick" convert "$dir/names.npz" names.safetensors && has err "it is left out"
}
test_names_of_tensors_say_what_is_training_and_what_is_test() {
    local many few kind
    many=$(repeat 20 "$one$zero$zero$one") few=$(repeat 3 "$one$zero$zero$one")
    tensors_file keras.safetensors "x_test F32 6,2 $few" "x_train F32 40,2 $many" "y_test U8 6 $(repeat 3 '\0\x01')" "y_train U8 40 $(repeat 20 '\0\x01')"
    tensors_file medical.safetensors "test_images F32 6,2 $few" "test_labels U8 6,1 $(repeat 3 '\0\x01')" "train_images F32 40,2 $many" "train_labels U8 40,1 $(repeat 20 '\0\x01')" "val_images F32 2,2 $zero$one$one$zero"
    for kind in keras medical; do
        train 0 $kind.safetensors $kind --epochs 20 && has err ", 40 rows"
        expect 0 "$wick" eval $kind --json && has out '"images": 6, "correct": 6'
        expect 0 "$wick" eval $kind --split train --json && has out '"images": 40, "correct": 40'
    done
    train 0 medical.safetensors again && has err '"val_images" is neither of train nor of test, and passed over'
    train 0 keras.safetensors named --label y_train
    # Measured and shown are those of test; the file is no whole of which a fifth is held out.
    tensors_file other.safetensors "x_test F32 2,2 $one$zero$zero$one" "x_train F32 4,2 $one$zero$zero$one$one$zero$zero$one" "y_test U8 2 \0\x01" "y_train U8 4 \0\x01\0\x01"
    expect 0 "$wick" eval keras --data other.safetensors && has err " test: 2 rows" && expect 0 "$wick" predict keras other.safetensors && has out "#1: 1, taken for 1" && lacks out "#2:"
    # One of the two alone is a file like any other.
    tensors_file half.safetensors "X_train F32 40,2 $many" "y_train U8 40 $(repeat 20 '\0\x01')" && train 0 half.safetensors half && has err ", 32 rows"
    tensors_file lost.safetensors "x_test F32 6,2 $few" "x_train F32 40,2 $many" "y_train U8 40 $(repeat 20 '\0\x01')" && train 3 lost.safetensors bad && has err 'has no tensor "label_test"'
}
conv="conv 4 3 pad 1, relu, flatten, linear classes"
test_channels_are_found_and_said() {
    local y="y U8 20 $(repeat 10 '\0\x01')"
    tensors_file last.safetensors "x U8 20,4,5,3 $(repeat 600 '\x09\xf0')" "$y"
    expect 0 "$wick" train --data last.safetensors --net "$conv" --epochs 1 --out last && has err 'samples of "x" are [4, 5, 3], with the channels last: they are turned to [3, 4, 5]' && [ "$(grep -c turned err)" = 1 ] || fail "said twice"
    expect 0 "$wick" info last && has out "[4, 3, 3, 3]"
    expect 0 "$wick" train --data last.safetensors --net "$conv" --epochs 1 --layout nchw --out left && expect 0 "$wick" info left && has out "[4, 4, 3, 3]"
    expect 3 "$wick" eval left --data last.safetensors --layout nhwc && has err "are [3, 4, 5], the model takes [4, 5, 3]"
    expect 0 "$wick" eval left && expect 0 "$wick" eval last
    # As the model learned them, whichever way they lie.
    tensors_file first.safetensors "x U8 20,3,4,5 $(repeat 600 '\x09\xf0')" "$y" && expect 0 "$wick" eval last --data first.safetensors && lacks err turned
    tensors_file both.safetensors "x U8 20,3,4,3 $(repeat 360 '\x09\xf0')" "$y"
    expect 0 "$wick" train --data both.safetensors --net "$conv" --epochs 1 --out both && has err "taken as 3 channels of 4 x 3; --layout nhwc takes the last extent"
    expect 0 "$wick" train --data both.safetensors --net "$conv" --epochs 1 --layout nhwc --out both_last && expect 0 "$wick" eval both_last
    tensors_file flat.safetensors "x U8 20,2 $(repeat 20 '\x09\xf0')" "$y" && expect 3 "$wick" train --data flat.safetensors --net "linear classes" --layout nhwc --out bad && has err "--layout is for samples of three dims"
    case_folder npz-labels-layout || return 0
    expect 0 "$wick" train --data "$dir/img3.npz" --net "$conv" --epochs 1 --out case_img3 && has err "turned to [3, 8, 8]" && expect 0 "$wick" info case_img3 && has out "[4, 3, 3, 3]"
}
test_arrays_by_themselves_are_explained() {
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" >x.npy && printf '\0\0\0\0' >>x.npy
    train 3 x.npy bad && has err 'is one array, samples without classes' && has err "numpy.savez"
    printf 'a,y\n1,0\n2,1\n1,0\n2,1\n1,0\n2,1\n' >t.csv && tensors_file t.safetensors "x F32 6,1 $(repeat 3 "$one$zero")" "y U8 6 $(repeat 3 '\0\x01')"
    train 0 t.csv table && expect 3 "$wick" eval table --data t.safetensors && has err "the model learned from the columns of a table"
    train 0 t.safetensors array && expect 3 "$wick" eval array --data t.csv && has err "the model learned from tensors"
}
test_wick_data_looks_into_tables() {
    mkdir -p looked && printf 'u;town\n1,5;Rome\nNA;Oslo\n3;Rome\n' >looked/train.csv
    expect 0 "$wick" data info looked/train.csv && has out "a table of 3 rows and 2 columns" && has out "numbers 1.5 to 3, mean 2.25; 1 missing" && has out "2 categories: Oslo, Rome" && has err "decimal comma"
    expect 0 "$wick" data info looked --json && valid_json out && has out '"form": "table", "rows": 3'
    expect 0 "$wick" data head looked --count 2 && has out "#0 u 1.5, town Rome" && has out "#1 u (missing), town Oslo" && lacks out "#2"
    expect 0 "$wick" data head looked --json && valid_json out && expect 0 "$wick" data verify looked && has out "is sound"
    expect 2 "$wick" data pack looked x.wrec && has err "is a table, and wick data pack is for files"
    printf 'a,b\n1\n' >short.csv && expect 3 "$wick" data verify short.csv && has err "line 2: 1 cell where the first line has 2"
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" >x.npy && printf '\0\0\0\0' >>x.npy
    expect 0 "$wick" data info x.npy && has out "f32 [1]" && expect 0 "$wick" data info x.npy --json && valid_json out && expect 2 "$wick" data split x.npy y && has err "is a file of tensors"
}
test_main
