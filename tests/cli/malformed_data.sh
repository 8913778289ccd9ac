# Malformed inputs of every kind of file that is learned from: each is refused with exit code 3, by file and line. They are counted: thirty at least.
. "$(dirname "$0")/lib.sh"
named=0
# wrong FILE LINE TEXT OPTION...: FILE becomes TEXT; the error has both the file's name and ", line N", ": line N" or ":N:".
wrong() {
    local file=$1 line=$2 text=$3
    shift 3
    mkdir -p "$(dirname "$file")" && printf '%b' "$text" >"$file"
    expect ${code:-3} "$wick" train --quiet --epochs 1 --out no --force "$@" || return
    grep -qE "$(basename "$file" | sed 's/\./\\./g')(:$line:|[,:] line $line[:, ])" err || { fail "neither file nor line: $file, line $line: $(tail -n 1 err)" && return; }
    named=$((named + 1))
}
grey() { printf 'P2 4 4 255\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n' >"$1"; }

test_tables() {
    wrong t.csv 3 'a,b,class\n1,2,x\n3,"4,y\n' --data t.csv
    wrong t.csv 3 'a,b,class\n1,2,x\n3,4\n' --data t.csv
    wrong t.csv 4 'a,b,price\n1,2,3.5\n3,4,4.5\n5,6,\n7,8,2.5\n' --data t.csv --target price
    wrong t.csv 3 'a,b,class\n1,2,x\n3,4,\n' --data t.csv
    wrong t.csv 2 'a,b,class\n1,"2"3,x\n' --data t.csv
    wrong t.csv 3 'a,b,class\n1,2,x\n3\0000,4,x\n' --data t.csv
    wrong t.arff 4 '@relation a\n@attribute x numeric\n@data\none\n' --data t.arff
    wrong t.arff 2 '@relation a\n@attribute x rational\n@data\n1\n' --data t.arff
    wrong t.ts 5 '@classLabel true a b\n@data\n1,2:a\n3,4:b\n5:a\n' --data t.ts
    wrong t.ts 3 '@classLabel true a b\n@data\n1,x:a\n' --data t.ts
}
test_texts() {
    wrong t.tsv 3 'intent\ttext\nask\twhat is it\nask\n' --data t.tsv --label intent
    wrong t.tsv 2 'intent\ttext\nask\twhat \0377 is it\n' --data t.tsv --label intent
    wrong t.tsv 3 'words\ttags\nAnn left\tB-PER O\nBob left\tB-PER\n' --data t.tsv --task tag
    wrong t.conll 3 'Ann B-PER\nleft O\nBob\n' --data t.conll --task tag
    wrong t.csv 2 'text,label\n"not closed,a\n' --data t.csv
    mkdir -p lines && grey lines/a.pgm
    wrong lines/train.tsv 2 'path\ttext\nb.pgm\tone\n' --data lines --task ctc
    wrong lines/train.tsv 3 'path\ttext\na.pgm\tone\na.pgm\n' --data lines --task ctc
}
test_boxes_and_points() {
    mkdir -p b && grey b/a.pgm
    local head='path,class,xmin,ymin,xmax,ymax\n' coco='{"images": [{"id": 1, "file_name": "a.pgm"}],\n"categories": [{"id": 7, "name": "a", "keypoints": ["l", "r"]}],\n"annotations": [\n'
    wrong b/train.csv 2 "${head}a.pgm,cell,1,2,x,4\\n" --data b --task detect
    wrong b/train.csv 3 "${head}a.pgm,cell,1,1,3,3\\na.pgm,cell,3,1,1,3\\n" --data b --task detect
    wrong b/train.csv 2 "${head}none.pgm,cell,1,1,3,3\\n" --data b --task detect
    rm b/train.csv
    wrong b/train.json 4 "$coco{\"image_id\": 1, \"category_id\": 7, \"bbox\": [1, 2]}]}" --data b --task detect
    wrong b/train.json 4 "$coco{\"image_id\": 3, \"category_id\": 7, \"bbox\": [1, 1, 1, 1]}]}" --data b --task detect
    wrong b/train.json 4 "$coco{\"image_id\": 1, \"category_id\": 7, \"keypoints\": [1, 2, 3, 4]}]}" --data b --task keypoints
    wrong b/train.json 4 "$coco{\"image_id\": 1, \"category_id\": 7, \"keypoints\": [1, 2, 2, 3, 4, 9]}]}" --data b --task keypoints
    wrong b/train.json 4 "$coco{\"image_id\": 1 \"category_id\": 7}]}" --data b --task keypoints
    rm b/train.json
    wrong b/train.csv 2 'path,x0,y0,x1,y1\na.pgm,1,2,3,z\n' --data b --task keypoints
    wrong b/train.csv 2 'path,x0,y0,x1,y1\na.pgm,1,,3,2\n' --data b --task keypoints
    rm b/train.csv && mkdir -p y/train/images y/train/labels v/train/images v/train/labels && grey y/train/images/a.pgm && grey v/train/images/a.pgm
    wrong y/train/labels/a.txt 2 '0 0.5 0.5 0.2 0.2\n0 0.5 0.5 1.9 0.2\n' --data y --task detect
    wrong y/train/labels/a.txt 1 'cell 0.5 0.5 0.2\n' --data y --task detect
    wrong v/train/labels/a.xml 3 '<annotation>\n<object><name>a</name>\n<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>x</xmax><ymax>2</ymax></bndbox></object></annotation>' --data v --task detect
}
test_pairs_heads_and_classes() {
    mkdir -p p && grey p/a.pgm
    wrong p/train.csv 2 'template,search,xmin,ymin,xmax,ymax\na.pgm,a.pgm,1,1,q,3\n' --data p --task track
    wrong h.csv 4 'a,kind,rate\n1,x,2\n2,y,3\n3,z,fast\n4,x,2\n' --data h.csv --heads 'kind=classes, rate=number'
    mkdir -p s/train/images s/train/masks && grey s/train/images/a.pgm && grey s/train/masks/a.pgm
    wrong s/classes.txt 2 'road 0\nsky blue\n' --data s --task segment
    code=2 wrong o.txt 2 'epochs = 2\nepoch = 3\n' --config o.txt
}
test_z_there_are_thirty() { [ "$named" -ge 30 ] && echo "  $named" || fail "$named inputs are named by file and line, not 30"; } # the others come before it
test_main
