"""What the scripts beside it share: commands and what they print, lines of JSON."""

import json
import os
import subprocess
import sys


def run(*words, threads=None):
    """The stdout of a command; its stderr is shown as it comes. Ends where the command fails. `threads`: of OpenMP."""
    words = [str(word) for word in words]
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads)) if threads else None
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        print(done.stdout, end="", file=sys.stderr)
        sys.exit(f"error: {' '.join(words)} ended with {done.returncode}: see above")
    return done.stdout


def lines_of(text):
    """What the lines of JSON of a command or a file hold."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def last_line(text):
    """What the last line of a command holds, whatever it printed before."""
    return json.loads(text.strip().splitlines()[-1])


def say(line):
    """A line of JSON, at once."""
    print(json.dumps(line), flush=True)
