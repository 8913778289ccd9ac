"""Runs a command on a terminal of 80 x 24 and looks at what it writes there: dashboard.py MODE COMMAND...

MODE: end (runs to its end), interrupt (SIGINT after some frames), twice (two of them) or abort (SIGABRT).
Checks that no cell beyond the screen is written, that frames are at most ten a second, and that the
terminal is given back. Python 3, standard library."""
import os, pty, re, select, signal, struct, sys, time, fcntl, termios

COLUMNS, ROWS = 80, 24
mode, command = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", LC_ALL="C.UTF-8")
    os.environ.pop("NO_COLOR", None)
    os.execvp(command[0], command)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
before = termios.tcgetattr(fd)

data, times, sent = b"", [], 0
status = None
deadline = time.time() + 120
def count_frames():
    return data.count(b"\x1b[1;1H")
while time.time() < deadline:
    ready, _, _ = select.select([fd], [], [], 0.05)
    if ready:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            chunk = b""
        if not chunk:
            break
        had = count_frames()
        data += chunk
        times += [time.time()] * (count_frames() - had)
    if mode != "end" and not sent and count_frames() >= 5:
        sent = 1
        os.kill(pid, signal.SIGABRT if mode == "abort" else signal.SIGINT)
        if mode == "twice":
            os.kill(pid, signal.SIGINT)
            time.sleep(0.02)
            os.kill(pid, signal.SIGINT)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
want = {"end": [0], "interrupt": [130], "twice": [130], "abort": [-signal.SIGABRT]}[mode]
assert code in want, f"exit code {code}: {data[-600:]!r}"

assert data.count(b"\x1b[?1049h") >= 1, "no dashboard"
assert data.rfind(b"\x1b[?1049l") > data.rfind(b"\x1b[?1049h"), "the screen was not given back"
assert data.rfind(b"\x1b[?25h") > data.rfind(b"\x1b[?25l"), "the cursor was not given back"

# A terminal that knows what the dashboard uses: places, erasing to the end of a line, styles, screens, the cursor.
# abort() may come within a frame's write: then a letter or a sequence is cut off, and what gives the screen back follows.
text = data.decode("utf-8", "replace" if mode == "abort" else "strict")
screen = [[" "] * COLUMNS for _ in range(ROWS)]
last = None
row = column = 0
i = text.index("\x1b[?1049h")
end = text.rindex("\x1b[?1049l")
known = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])")
while i < end:
    c = text[i]
    if c == "\x1b":
        m = known.match(text, i)
        cut = mode == "abort" and not m and re.compile(r"\x1b(\[\??[0-9;]*)?(?=\x1b)").match(text, i)
        if cut:  # ESC within a sequence begins a new one, as DEC's terminals have it
            i = cut.end()
            continue
        assert m, repr(text[i:i + 20])
        args, what = m.groups()
        if what == "H":
            row, column = (int(x) - 1 for x in args.split(";"))
            assert 0 <= row < ROWS and 0 <= column < COLUMNS, f"place {args}"
            if row == 0 and any("epoch" in "".join(r) for r in screen):
                last = ["".join(r) for r in screen]
        elif what == "K":
            screen[row][column:] = [" "] * (COLUMNS - column)
        elif what == "J":
            screen = [[" "] * COLUMNS for _ in range(ROWS)]
        else:
            assert what in "mhl", what
        i = m.end()
        continue
    if c in "\r\n":
        assert text[:i].count("\x1b[?1049l") >= 1, "a line end on the other screen"
        i += 1
        continue
    if text.rfind("\x1b[?1049h", 0, i) > text.rfind("\x1b[?1049l", 0, i):
        assert column < COLUMNS - 1, f"row {row} is too long"
        screen[row][column] = c
        column += 1
    i += 1
assert last, "no whole frame"
shown = "\n".join(last)
for word in ("epoch ", "step ", " left", "loss ", "samples/s", "memory ", "queue ", "CPUs"):
    assert word in shown, f"'{word}' is not shown:\n{shown}"
assert any("⠀" < ch <= "⣿" for ch in shown), "no curve"
# Ten a second: any eleven frames take at least a second, less what reading is late by.
for a, b in zip(times, times[11:]):
    assert b - a > 0.85, f"eleven frames in {b - a:.2f} s"
try:
    assert termios.tcgetattr(fd) == before, "settings of the terminal"
except termios.error:
    pass  # the terminal went with its last process
if os.environ.get("SHOW"):
    print(shown)
print(len(times), "frames")
