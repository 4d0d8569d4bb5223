#!/usr/bin/env python3
"""Does what README.md tells a newcomer to do: a fresh clone, the commands as they are written, the pages in a browser, Ctrl-C.

    tools/newcomer/run.py [--keep]      --keep leaves the clone and the terminal's text behind

The commands are the lines of the README's sh blocks under the headings of `sections`, in their order. The last line of the first block starts the
node: it runs on a pseudo-terminal, as it would for a person. The clone holds what is committed. Addresses are the README's, so their ports must be free.
"""
import atexit
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

root = Path(__file__).resolve().parents[2]
sections = ["Run it", "Ask it"]
limit = 600  # seconds for all of it
patience = 180  # seconds until a command must have an answer: the first blocks take some
cloned = "https://github.com/mintlake/mintlake"
began = time.monotonic()


def fail(text):
    print(f"newcomer: {text}", file=sys.stderr)
    sys.exit(1)


def told(text):
    print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)


def environment(work):
    """The settings of whoever runs this are not a newcomer's. The clone comes from this checkout instead of the address in the README."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MINTLAKE_") or name == "MINTLAKE_CACHE_DIR"}
    own.pop("MAKEFLAGS", None)
    own.pop("MAKELEVEL", None)
    own |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{root}.insteadOf", "GIT_CONFIG_VALUE_0": cloned}
    return own | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PWD": str(work)}


def blocks(text, heading):
    """The sh blocks under a heading, each as its commands."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not match:
        fail(f"README.md has no heading {heading!r}")
    found = re.findall(r"^```sh\n(.*?)^```", match[1], re.M | re.S)
    return [[line for line in block.replace("\\\n", "").splitlines() if line.strip()] for block in found]


class Terminal:
    """A shell command on a pseudo-terminal, and all that it has written."""

    def __init__(self, command, folder, env):
        self.text, self.status = "", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe("bash", ["bash", "-c", command], env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode(errors="replace")
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def until(self, pattern, seconds):
        end = time.monotonic() + seconds
        while not (match := re.search(pattern, self.text)):
            if self.status is not None or time.monotonic() > end:
                fail(f"the terminal never showed {pattern!r}; it ends with:\n{self.text[-3000:]}")
            time.sleep(0.1)
        return match

    def interrupt(self):
        """Ctrl-C, as the terminal makes it."""
        if self.status is None:
            os.write(self.fd, b"\x03")

    def end(self, seconds):
        stop = time.monotonic() + seconds
        while self.status is None and time.monotonic() < stop:
            time.sleep(0.1)
        return self.status


def answered(command, output):
    """What a command's answer must hold: more than nothing, and no error."""
    if re.search(r"curl 'http://[^/]+/tokens\?", command):
        return bool(json.loads(output).get("items"))
    return bool(output.strip()) and "rror" not in output


def run(command, folder, env):
    """Runs one line until its answer holds. A stream ends by curl's own limit."""
    end = time.monotonic() + patience
    fetches = 3 if "npm ci" in command else 1  # a package server may be away for a moment
    while True:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=240)
        good = done.returncode == 0 or done.returncode == 28 and "--max-time" in command
        if good and answered(command, done.stdout):
            return done.stdout
        fetches -= not good
        if fetches == 0 or time.monotonic() > end:
            fail(f"$ {command}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        time.sleep(1)


def look(text, env):
    """The pages that the table of the README names, in a browser."""
    pages = re.findall(r"<(http://127\.0\.0\.1:8080/[^>]*)>", text)
    if len(pages) < 2:
        fail("README.md names no pages")
    chromium = subprocess.check_output([root / "tools/web/install.sh"], text=True, env=env).strip()
    packages = Path(subprocess.check_output([root / "tools/web/packages.sh"], text=True, env=env).strip())
    script = packages / f"newcomer-{os.getpid()}.mjs"  # modules are looked for beside the script
    shutil.copy(root / "tools/newcomer/pages.mjs", script)
    try:
        subprocess.run(["node", script, *pages], env=env | {"CHROMIUM": chromium}, check=True, timeout=300)
    except subprocess.CalledProcessError:
        fail("the pages are not what the README says: see above")
    finally:
        script.unlink()


def main():
    work = Path(tempfile.mkdtemp(prefix="mintlake-newcomer."))
    if "--keep" not in sys.argv:
        atexit.register(shutil.rmtree, work, ignore_errors=True)
    text, env = (root / "README.md").read_text(), environment(work)
    (start, *rest) = [block for heading in sections for block in blocks(text, heading)]
    if cloned not in start[0]:
        fail(f"README.md begins with {start[0]!r} and not with a clone of {cloned}")
    node = Terminal("set -e; " + "\n".join(start), work, env)
    atexit.register(stop, node)
    node.until("Mintlake is up", limit - 120)
    node.until(r"look at tokens +http://127\.0\.0\.1:8080/", 5)
    told("the node is up, and says what comes next")
    clone = next(work.iterdir())
    for line in (line for block in rest for line in block):
        output = run(line, clone, env)
        told(f"$ {line}: {len(output.splitlines())} lines")
    look(text, env)
    told("the pages show tokens")
    node.until(r"\rslot|\x1b\[Kslot [0-9,]{5,}.* tx/s .* tokens", patience)
    node.interrupt()
    status = node.end(120)
    if "--keep" in sys.argv:
        (work / "terminal").write_text(node.text)
        told(f"kept in {work}")
    if status not in (0, 2, 130, -signal.SIGINT):  # make, or the shell, says that it was interrupted
        fail(f"Ctrl-C ended the node with {status}:\n{node.text[-3000:]}")
    if not silent("127.0.0.1", 8080):
        fail("after Ctrl-C something still answers at 127.0.0.1:8080")
    told("Ctrl-C stopped it")
    if time.monotonic() - began > limit:
        fail(f"it took more than {limit} s")


def silent(host, port):
    """Whether nothing listens there, or soon no longer: the shell may end before the node."""
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex((host, port)) != 0:
                return True
        time.sleep(0.1)
    return False


def stop(node):
    """Ends the node, whatever went wrong."""
    node.interrupt()
    if node.end(30) is None:
        os.killpg(node.pid, 9)


main()
