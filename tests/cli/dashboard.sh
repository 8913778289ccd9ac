# wick train --dashboard: on a terminal it takes the screen and gives it back after any end; elsewhere it writes no escape.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
train() { echo "$wick" train --data images --arch mlp:32 --threads 1 --epochs "$1" --out "$2" --force --dashboard; }

test_on_a_terminal() {
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    make_data images 4000 200
    # shellcheck disable=SC2046
    expect 0 python3 "$here/dashboard.py" interrupt $(train 100000 a)
    expect 0 python3 "$here/dashboard.py" twice $(train 100000 b)
    expect 0 python3 "$here/dashboard.py" end $(train 40 c)
    [ -n "${SANITIZED:-}" ] || expect 0 python3 "$here/dashboard.py" abort $(train 100000 e)
}
test_without_a_terminal_no_escape_is_written() {
    make_data images 300 100
    # shellcheck disable=SC2046
    expect 0 env -u NO_COLOR $(train 2 f) && has err "standard error is no terminal"
    ! grep -q $'\x1b' out err || fail "escapes: $(cat -v err)"
    expect 2 $(train 2 g) --quiet && has err "--dashboard and --quiet"
}
test_main
