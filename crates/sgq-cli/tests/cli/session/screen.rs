//! The line that moves, on a terminal as a person has it.

use std::fs;

use super::{new, place};
use crate::text;

/// Runs a command on a terminal of so many columns, presses Ctrl-C once somebody was asked, and prints the screen at the end.
const TERMINAL: &str = r#"
import fcntl, os, pty, re, struct, sys, termios, time
columns, command = int(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    os.execv(command[0], command)
came, pressed = b"", None
while True:
    if pressed is None and os.path.exists("received.jsonl"):
        time.sleep(0.5)
        os.write(terminal, b"\x03")
        pressed = time.time()
    if pressed and time.time() - pressed > 0.5:
        open("go", "w").close()
    try:
        some = os.read(terminal, 65536)
    except OSError:
        break
    if not some:
        break
    came += some
screen, row, column = {}, 0, 0
for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|.", came.decode(), re.S):
    if piece == "\r":
        column = 0
    elif piece == "\n":
        row, column = row + 1, column
    elif piece == "\x1b[2K":
        screen[row] = {}
    elif piece == "\x1b[K":
        screen[row] = {at: it for at, it in screen.get(row, {}).items() if at < column}
    elif piece.endswith("A") and len(piece) > 1:
        row -= int(piece[2:-1] or 1)
    elif piece.startswith("\x1b"):
        pass
    else:
        if column == columns:
            row, column = row + 1, 0
        screen.setdefault(row, {})[column] = piece
        column += 1
for row in range(max(screen) + 1):
    line = screen.get(row, {})
    print("".join(line.get(at, " ") for at in range(max(line, default=-1) + 1)).rstrip())
"#;

#[test]
fn the_line_stands_there_once_and_is_not_wrapped() {
    for columns in ["40", "100"] {
        let place = place();
        let place = place.path();
        new(place, "study.sgq", &["--budget", "40", "--tol", "off"]);
        fs::write(place.join("terminal.py"), TERMINAL).unwrap();
        let output = std::process::Command::new("python3")
            .args(["-S", "terminal.py", columns, env!("CARGO_BIN_EXE_sgq")])
            .args(["session", "run", "study.sgq", "--command", "python3 -S clinic.py held"])
            .current_dir(place)
            .output()
            .unwrap();
        let screen = text(&output.stdout);
        let moving: Vec<&str> =
            screen.lines().filter(|line| line.contains(" of 40") && line.contains("  cost ")).collect();
        let (begins, bar) = if columns == "40" { ("  1 of 40  cost ", false) } else { ("  frugal  ╌", true) };
        assert_eq!(moving.len(), 1, "{columns}:\n{screen}\n{}", text(&output.stderr));
        assert!(moving[0].starts_with(begins) && moving[0].contains('╌') == bar, "{screen}");
        assert!(moving[0].chars().count() + 3 <= columns.parse().unwrap(), "{screen}");
        // What stood there before Ctrl-C is written over.
        assert!(!screen.contains("cost 0") && screen.matches("waiting up to").count() == 1, "{screen}");
    }
}
