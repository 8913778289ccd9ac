# Man pages, completions and examples follow from the tables of options: nothing is missing, and the programs that read them agree.
. "$(dirname "$0")/lib.sh"
commands=$("$wick" help | sed -n 's/^  wick \([a-z]*\) .*/\1/p' | grep -vx help)
# options COMMAND: as --help lists them
options() { "$wick" help "$1" | sed -n 's/^  --\([a-z0-9-]*\) .*/\1/p'; }

test_commands_are_found() { [ "$(echo "$commands" | wc -l)" -ge 7 ] && echo "$commands" | grep -qx train || fail "commands: $commands"; }
test_examples_are_lines_the_command_takes() {
    for command in $commands; do
        # A line that is too long for the terminal goes on behind a backslash.
        "$wick" help "$command" | sed -e ':more' -e '/ \\$/{N;s/ \\\n */ /;b more' -e '}' | sed -n "/^Examples/,/^\$/s/^  \(wick .*\)/\1/p" | sed 's/ [|>].*//' >examples
        [ -s examples ] || fail "$command has no example"
        while read -r line; do
            # before the rest: what a launched command is given is its own
            eval "expect 0 '$wick' $(sed 's/^wick \([a-z]*\)/\1 --help/' <<<"$line")" || echo "  example: $line"
            has out "wick $command"
        done <examples
    done
}
test_man_pages_have_every_option_and_command() {
    expect 0 "$wick" help --man && mv out wick.1
    for command in $commands; do
        has wick.1 "wick\\-$command"
        expect 0 "$wick" help --man "$command" && mv out "wick-$command.1"
        options "$command" >names
        [ -s names ] || fail "no options of $command"
        while read -r option; do has "wick-$command.1" "\\fB\\-\\-${option//-/\\-}\\fR"; done <names
    done
    expect 2 "$wick" help --man trian && has err "did you mean train?"
    for page in wick*.1; do
        if command -v groff >/dev/null; then
            groff -man -ww -Tutf8 "$page" >/dev/null 2>warnings
            [ ! -s warnings ] || fail "groff on $page: $(cat warnings)"
        fi
        if command -v mandoc >/dev/null; then # the date is left out so that builds are the same on any day
            mandoc -T lint -W warning "$page" | grep -v "missing date" >warnings
            [ ! -s warnings ] || fail "mandoc on $page: $(cat warnings)"
        fi
    done
    command -v groff >/dev/null || command -v mandoc >/dev/null || echo "  skipped: neither groff nor mandoc to read the pages"
}
# columns FILE: of its longest line.
columns() { awk '{ if (length($0) > most) most = length($0) } END { print most }' "$1"; }
test_help_fits_into_the_terminal() {
    local command width
    for command in $commands net ""; do
        "$wick" help $command >page
        [ "$(columns page)" -le 80 ] || fail "help $command: $(columns page) columns without a terminal"
    done
    command -v script >/dev/null || { echo "  skipped: no script for a terminal"; return 0; }
    for width in 72 80 120; do
        for command in train run data; do
            script -qc "stty cols $width; '$wick' help $command" /dev/null </dev/null | tr -d '\r' >page
            [ "$(columns page)" -le $width ] || fail "help $command: $(columns page) columns in a terminal of $width"
        done
    done
    [ "$(columns page)" -gt 100 ] || fail "a wide terminal is not used"
}
test_options_stand_in_groups() {
    "$wick" help train | grep -E '^[A-Z][a-z ]*:$' | tr '\n' ' ' >groups
    [ "$(cat groups)" = "Data: Network: Training: Optimizer: Schedule: Output: Machine: Examples: Exit codes: " ] || fail "groups: $(cat groups)"
    "$wick" help verify | grep -q '^Options:$' || fail "few options in groups"
    for command in train report compile; do "$wick" help $command | grep -q '^  --out [A-Z]*, -o [A-Z]*' || fail "$command without -o"; done
    expect 0 "$wick" help --man train && has out ".SS Optimizer" && has out '\fB\-o\fR, \fB\-\-out\fR'
    for command in $commands; do [ -z "$(options "$command" | sort | uniq -d)" ] || fail "$command lists twice: $(options "$command" | sort | uniq -d)"; done
    for command in $commands ""; do # each code once
        "$wick" help $command | sed -n '/^Exit codes/,$s/^ *\([0-9][0-9]*\)  .*/\1/p' >numbers
        [ -s numbers ] && [ -z "$(sort numbers | uniq -d)" ] || fail "exit codes of help $command: $(tr '\n' ' ' <numbers)"
    done
}
# complete WORD...: what bash offers for the last word.
complete_words() {
    bash -c '. ./wick.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wick; printf "%s\n" "${COMPREPLY[@]}"' - "$@" | sort | tr '\n' ' '
}
offers() { # WORDS... = WANTED
    local want=${*: -1} got
    got=$(complete_words "${@:1:$#-2}")
    [ "$got" = "$want" ] || fail "'${*:1:$#-2}' is completed to '$got', not '$want'"
}
test_bash() {
    expect 0 "$wick" completions bash && mv out wick.bash
    bash -n wick.bash || fail "no bash"
    offers wick tra = "train "
    offers wick train --opt = "--optimizer "
    offers wick train --color "" = "always auto never "
    offers wick train --color = always = "always "
    offers wick train --color = = "always auto never "
    offers wick train --arch dsc = "dscnn "
    offers wick train --epochs "" = " "
    offers wick eval --split t = "test train "
    offers wick completions "" = "bash fish zsh "
    offers wick help net = "net "
    offers wick eval --opt = " "
    mkdir -p "folder a" && : >"folder file"
    offers wick eval "fold" = "folder a folder file "
    offers wick train --out "fold" = "folder a "
    offers wick train --log "fold" = "folder a folder file "
    offers wick train --data fa = "fashion-mnist "
    for command in $commands; do
        [ "$(complete_words wick "$command" --)" = "$(options "$command" | sed 's/^/--/' | sort | tr '\n' ' ')" ] || fail "options of $command"
    done
}
test_zsh() {
    expect 0 "$wick" completions zsh && mv out _wick
    [ "$(head -n 1 _wick)" = "#compdef wick" ] || fail "first line"
    command -v zsh >/dev/null || { echo "  skipped: no zsh"; return 0; }
    zsh -n _wick || fail "no zsh"
    # A shell on a terminal of its own, where keys are pressed; its lists end in the log.
    cat >try.zsh <<'END'
zmodload zsh/zpty
zpty try zsh -f -i
zpty -w try 'PS1=; PS2=; autoload -U compinit; compinit -u -D; source ./_wick; stty cols 200; LISTMAX=0'
zpty -w try 'wick() print -r -- "<$*>"'
for line in 'wick train --optimizer=sg' 'wick eva' 'wick eval --spl' 'wick train --arch mob'; zpty -w -n try "$line"$'\t\n'
zpty -w try 'print over'
until [[ $all == *$'\n'over* ]]; do zpty -r try part || break; all+=$part; done
print -r -- "$all"
END
    timeout 20 zsh -f try.zsh >log 2>&1
    for line in "<train --optimizer=sgd>" "<eval>" "<eval --split>" "<train --arch mobilenet>"; do has log "$line"; done
}
test_fish() {
    expect 0 "$wick" completions fish && mv out wick.fish
    command -v fish >/dev/null || { echo "  skipped: no fish"; return 0; }
    fish --no-config -n wick.fish || fail "no fish"
    ask() { HOME=$PWD fish --no-config -c "source wick.fish; complete -C '$1'" 2>err | cut -f 1 | sort | tr '\n' ' '; }
    [ "$(ask "wick tra")" = "train " ] || fail "commands: $(ask "wick tra")"
    [ "$(ask "wick train --color ")" = "always auto never " ] || fail "choices: $(ask "wick train --color ")"
    [ "$(ask "wick eval --sp")" = "--split " ] || fail "options: $(ask "wick eval --sp")"
    [ "$(ask "wick help trai")" = "train " ] || fail "help: $(ask "wick help trai")"
}
test_other_shells_are_refused() {
    expect 2 "$wick" completions tcsh && has err tcsh && has err "bash, zsh and fish"
    expect 2 "$wick" completions && has err SHELL
}
test_main
