# The zoo's stored results, zoo_results.tsv, beside what the command says of each model and docs/zoo.md of its scores; and three models trained on the public sets.
# A score is that of a recipe: where network or options change, the model is measured again, and scripts/zoo_results.py OUT stores what came of it.
sets=${WICK_ZOO:-${WICK_DATA:+$WICK_DATA/zoo}}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
unset WICK_ZOO
stored=$here/zoo_results.tsv page=$here/../../docs/zoo.md
# of LINE KEY: a text or number of one model in the list
of() { printf '%s' "$1" | grep -o "\"$2\": [^}]*" | sed 's/^[^:]*: //; s/^"\([^"]*\)".*/\1/; s/,.*//'; }

test_models_are_those_that_were_measured() {
    expect 0 "$wick" zoo list --json || return
    sed 's/{"id": /\n&/g' out | grep '"id": ' >models
    [ "$(wc -l <models)" = 30 ] && [ "$(grep -c . "$stored")" = 31 ] || fail "not 30 models and as many results"
    local line id row
    while read -r line; do
        id=$(of "$line" id)
        row=$(awk -F '\t' -v id="$id" '$1 == id' "$stored")
        expect 0 "$wick" zoo recipe "$id" || return
        local is="$id|$(of "$line" name)|$(of "$line" parameters)|$(printf '%s' "$line" | sed 's/.*"network_input": "\([^"]*\)".*/\1/')|$(of "$line" outputs)|$(of "$line" metric)|$(of "$line" demand)|$(grep -v '^#' out | sha256sum | cut -c1-16)"
        [ "$is" = "$(printf '%s' "$row" | awk -F '\t' 'BEGIN { OFS = "|" } { print $1, $2, $3, $4, $5, $6, $7, $8 }')" ] || fail "$id is not what was measured: $is, stored $row"
    done <models
}
# Score and baseline of each model are those of the page, and so is whether the demand is met.
test_the_page_says_what_is_stored() {
    awk -F '\t' 'NR > 1 { down = $6 ~ /MSE|%/; met = n = split($10, s, ", "); for (i = 1; i <= n; i++) { good = down ? s[i] + 0 <= $7 + 0 : s[i] + 0 >= $7 + 0; met -= !good }
        better = 0; for (i = 1; i <= n; i++) better += down ? s[i] + 0 < $9 + 0 : s[i] + 0 > $9 + 0; if (!n || better < n) print "no better than the baseline: " $0
        print $1 "|" $3 "|" $9 "|" $10 "|" (met == n ? "yes" : met ? met " of " n : "no") }' "$stored" | sort >is
    sed -n '/^## Scores/,/^- The score/p' "$page" | awk -F ' *[|] *' '/^[|] [VAS][0-9]/ { split($2, id, " "); gsub(",", "", $4); print id[1] "|" $4 "|" $7 "|" $8 "|" $9 }' | sort >says
    [ "$(grep -c . says)" = 30 ] && diff is says >apart || fail "the page and the stored results: $(cat apart)"
}
# Weights of the base tier are the same on any x86-64 machine, for any number of threads: so are their bytes, and the score.
test_three_are_trained() {
    [ -n "$sets" ] && [ -e "$sets/skab.npz" ] && [ -e "$sets/ETTh1.csv.gz" ] && [ -e "$sets/umafall.npz" ] || { echo "  skipped: no sets (WICK_ZOO, WICK_DATA)"; return 0; }
    if [ -n "${SANITIZED:-}" ]; then echo "  skipped: under a sanitizer, which other trainings have"; return 0; fi
    local id score weights threads=1
    while IFS=$'\t' read -r id score weights; do
        WICK_ISA=base expect 0 "$wick" zoo train "$id" --data "$sets" --out trained --threads $threads --json || return
        [ "$(json out met)" = true ] || fail "$id does not meet its demand: $(json out score)"
        [ "$(uname -m)" = x86_64 ] || continue
        [ "$(json out score)" = "$score" ] || fail "$id: the score is $(json out score), not $score"
        local is=$(tensors trained/"$(json out name)"/seed-1/best.safetensors | sha256sum | cut -c1-16)
        [ "$is" = "$weights" ] || fail "$id: the weights are $is, not $weights"
        threads=2
    done <"$here/zoo_weights.tsv"
    # weights that others trained are measured as they are
    cp out before && WICK_ISA=base expect 0 "$wick" zoo eval S5 --out trained --json && [ "$(json out score)" = "$(json before score)" ] || fail "another score by eval"
}
test_main
