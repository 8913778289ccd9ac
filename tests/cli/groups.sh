# wick train --group: parameters by name, with rates and decay of their own; and momentum that cycles.
. "$(dirname "$0")/lib.sh"
make_data data 60 20
run=(--data data --validation 0.1 --hidden 6 --batch 20 --weight-decay 0.1 --optimizer adamw --quiet --dropout 0)
"$wick" train "${run[@]}" --epochs 1 --out plain >/dev/null || exit 1

test_groups_do_what_they_say() {
    # Groups that change nothing leave every bit; the rate may be a factor or a number.
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out same --group "fc1.*:lr=1x" --group "*.bias:lr=0.001,decay=0.1"
    expect 0 "$wick" compare plain same --atol 0
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out factor --group "*.bias:lr=0.5x"
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out number --group "*.bias:lr=0.0005"
    expect 0 "$wick" compare factor number --atol 0
    expect 5 "$wick" compare plain factor --atol 0 --only "*.bias"
    # What is frozen stays, the rest goes on.
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out one --group "fc1.*:freeze"
    expect 0 "$wick" train "${run[@]}" --epochs 3 --out three --group "fc1.*:freeze"
    expect 0 "$wick" compare one/last.safetensors three/last.safetensors --atol 0 --only "fc1.*"
    expect 5 "$wick" compare one/last.safetensors three/last.safetensors --atol 0 --only "fc2.*"
    # Without decay on biases: as without decay at all, while the weights' decay is 0 too.
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out none --group "*:decay=0"
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out zero --weight-decay 0
    expect 0 "$wick" compare none zero --atol 0
    expect 5 "$wick" compare none plain --atol 0 && has out "fc1.weight"
    # The first that matches counts.
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out first --group "fc1.*:freeze;fc1.weight|fc2.*:lr=1x"
    expect 0 "$wick" compare first one --atol 0
}
test_groups_are_kept_with_the_run() {
    expect 0 "$wick" train "${run[@]}" --epochs 4 --out whole --group "*.bias:decay=0" --group "fc1*:lr=0.3x"
    expect 0 "$wick" train "${run[@]}" --epochs 4 --out part --group "*.bias:decay=0" --group "fc1*:lr=0.3x" --patience 1
    expect 0 "$wick" train --resume part --patience 100 --quiet
    same_tensors whole/last.safetensors part/last.safetensors
    expect 2 "$wick" train --resume whole --epochs 5 --group "*:lr=1x" && has err "started with '*.bias:decay=0;fc1*:lr=0.3x'"
    expect 0 "$wick" report whole --quiet
}
test_wrong_groups_are_refused() {
    for group in "fc1" "fc1:" ":lr=1" "fc1*:lr=0" "fc1*:lr=x" "fc1*:lr=-1x" "fc1*:decay=1x" "fc1*:decay=nan" "fc1*:rate=2" "fc1*:freeze=1" "fc1*:lr=1x;"; do
        expect 2 "$wick" train "${run[@]}" --epochs 1 --out no --group "$group" && has err "--group '"
    done
    expect 2 "$wick" train "${run[@]}" --out no --group "" && has err "--group needs"
    expect 2 "$wick" train "${run[@]}" --out no --group "nobody*:lr=1x" && has err 'no parameter' && has err 'nobody*'
    expect 2 "$wick" train "${run[@]}" --out no --group "*:lr=1x" --group "fc1.*:freeze" && has err '"fc1.*"'
    [ ! -e no ] || fail "a refused run made its folder"
}
test_momentum_cycles() {
    for optimizer in sgd adam muon; do
        base=(--data data --hidden 6 --batch 20 --epochs 4 --schedule onecycle --optimizer $optimizer --quiet)
        expect 0 "$wick" train "${base[@]}" --out "still-$optimizer"
        expect 0 "$wick" train "${base[@]}" --out "cycle-$optimizer" --cycle-momentum
        expect 5 "$wick" compare "still-$optimizer/last.safetensors" "cycle-$optimizer/last.safetensors" --atol 0
    done
}
test_main
