# The page of wick report in headless Chromium: nothing on the console, nothing fetched, nothing beyond the window's sides.
# Screenshots stay in $WICK_SCREENSHOTS, if that is set. Exit code 77: there is no Chromium here.
. "$(dirname "$0")/lib.sh"
for chromium in chromium chromium-browser google-chrome; do command -v $chromium >/dev/null && break; chromium=; done
[ -n "$chromium" ] || { echo "skipped cli/browser: no chromium here (apt-get install chromium)"; exit 77; }
make_data data 400 100
"$wick" train --data data --arch cnn --epochs 2 --batch 30 --out run --quiet >/dev/null || exit 1
"$wick" report run --quiet >/dev/null || exit 1

# browse FILE OPTIONS...: the console and errors go to log.
browse() {
    timeout 120 $chromium --headless --disable-gpu --no-sandbox --disable-dev-shm-usage --hide-scrollbars --user-data-dir="$scratch/profile" \
        --host-resolver-rules="MAP * ~NOTFOUND" --enable-logging=stderr --virtual-time-budget=2000 "${@:2}" "file://$scratch/$1" 2>log
}
# What the page says to its console. Chromium's own troubles with a machine are no concern of it.
console() { grep -E 'CONSOLE|Refused|ERR_' log; }

test_console_is_silent() {
    browse run/report.html --dump-dom >dom.html
    ! console | head -n 5 | grep . || fail "the console speaks"
    for id in curves mistakes filters plan memory time options; do has dom.html "id=\"$id\""; done
    [ "$(grep -c '<svg' run/report.html)" = "$(grep -c '<svg' dom.html)" ] && [ "$(grep -o '<svg' dom.html | wc -l)" -ge 20 ] ||
        fail "$(grep -o '<svg' dom.html | wc -l) charts in the page"
    ! grep -nE '="[^"]*\b(NaN|nan|inf|undefined)\b' dom.html | head -n 3 | grep . || fail "a number is none"
}
# A timeline, whole and cut off in the middle of a span, says how many there are of the first one's name when it is clicked.
test_a_timeline() {
    expect 0 "$wick" profile --arch lenet --input 28,28 --runs 20 --threads 1 --profile whole.html --quiet
    head -c "$(($(wc -c <whole.html) * 2 / 3))" whole.html >cut.html
    for page in whole cut; do
        sed "s|</script><script type=|addEventListener('load', () => { const r = c0().getBoundingClientRect();\
            for (const k of ['pointerdown', 'pointerup']) c0().dispatchEvent(new PointerEvent(k, {clientX: r.left + r.width / 2, clientY: r.top + 50, pointerId: 1}))});\
            const c0 = () => document.getElementById('view'); HTMLElement.prototype.setPointerCapture = () => {};</script><script type=|" $page.html >clicked.html
        browse clicked.html --dump-dom >dom.html
        ! console | head -n 5 | grep . || fail "the console speaks of $page.html"
        grep -q 'id="told">[^<]* at [^<]*; all [0-9]*: ' dom.html || fail "$page.html: $(grep -o 'id="told">[^<]*' dom.html)"
    done
}
# The tests above can fail: a page that fetches is told on.
test_a_fetch_would_be_seen() {
    sed 's|</main>|<img alt="" src="http://example.org/x.png"></main>|' run/report.html >fetches.html
    browse fetches.html --dump-dom >/dev/null
    console | grep -q 'Content Security Policy' || fail "a fetch was not seen: $(tail -n 5 log)"
}
test_nothing_is_wider_than_the_window() {
    sed -e 's|<meta http-equiv[^>]*>||' -e 's|</body>|<script>document.body.id = "w" + document.documentElement.scrollWidth + "of" + innerWidth</script></body>|' \
        run/report.html >measured.html
    for width in 500 800 1240 2000; do
        browse measured.html --window-size=$width,900 --dump-dom >dom.html
        grep -q "id=\"w\([0-9]*\)of\1\"" dom.html || fail "at $width: $(grep -o 'id="w[0-9]*of[0-9]*"' dom.html)"
    done
}
# Folded parts are opened. What scrolls sideways is cut off.
test_nothing_is_cut_off_in_a_narrow_window() {
    sed -e 's|<meta http-equiv[^>]*>||' -e 's|<details|<details open|g' \
        -e 's|</body>|<script>document.body.id = "cut" + [...document.querySelectorAll("*")].filter(e => e.clientWidth \&\& e.scrollWidth > e.clientWidth + 1 \&\& getComputedStyle(e).overflowX != "visible").length</script></body>|' \
        run/report.html >measured.html
    browse measured.html --window-size=400,900 --dump-dom >dom.html
    grep -q 'id="cut0"' dom.html || fail "$(grep -o 'id="cut[0-9]*"' dom.html)"
}
test_light_and_dark() {
    for scheme in light dark; do
        dark=()
        [ $scheme = dark ] && dark=(--blink-settings=preferredColorScheme=0)
        browse run/report.html "${dark[@]}" --window-size=1240,4400 --screenshot="$scratch/report-$scheme.png" >/dev/null
        [ "$(wc -c <report-$scheme.png)" -gt 50000 ] || fail "$scheme is empty"
    done
    ! cmp -s report-light.png report-dark.png || fail "light and dark are the same"
    [ -z "${WICK_SCREENSHOTS:-}" ] || cp report-light.png report-dark.png "$WICK_SCREENSHOTS"
}
test_main
