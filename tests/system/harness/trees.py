"""Shell and Python commands that make awkward process trees; each process has the marker in its argv."""
import sys

PYTHON = "/usr/bin/python3"


def sleeper(marker):
    return ["bash", "-c", "while :; do read -t 1000 <> <(:) || :; done", marker]


def deaf(marker):
    """One process that ignores SIGTERM; as soon as it does, its command line contains `MARKER-deaf`."""
    return ["bash", "-c", 'trap "" TERM; exec -a "$0-deaf" sleep 1000', marker]


def term_ignored(marker):
    """A shell and a child, both of which ignore SIGTERM."""
    return ["bash", "-c", f'trap "" TERM; bash -c \'trap "" TERM; while :; do sleep 1000; done\' {marker}-child & wait; while :; do sleep 1000; done',
            marker]


def daemon(marker):
    """setsid, double fork, closed descriptors, cleared environment; the leader stays."""
    code = f"""
import os, sys, time, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.closerange(0, 256)
        os.chdir('/')
        os.execve('{PYTHON}', ['{PYTHON}', '-c', 'import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()', '{marker}-daemon'], {{}})
    os._exit(0)
os.wait()
while True: signal.pause()
"""
    return [PYTHON, "-c", code, marker]


def respawner(marker):
    """Each process forks its successor and ends, forever, ignoring SIGTERM; the leader stays, too."""
    code = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork() != 0: os._exit(0)
while True: signal.pause()
"""
    return [PYTHON, "-c", code, marker]


def stopped(marker):
    """Children that are stopped; one of them handles SIGTERM only when continued."""
    return ["bash", "-c", f"for i in 1 2 3; do sleep 1000 {marker} 2>/dev/null || bash -c 'kill -STOP $$; sleep 1000' {marker}-$i & done; "
            f"bash -c 'kill -STOP $$; while :; do sleep 1000; done' {marker}-x; wait", marker]


def orphans(marker):
    """The leader exits at once; its children live on."""
    return ["bash", "-c", f"(bash -c 'while :; do sleep 1000; done' {marker}-a & bash -c 'while :; do sleep 1000; done' {marker}-b &) ; exit 0", marker]


def crowd(marker, count):
    """`count` processes in one task."""
    code = f"""
import os, signal
for i in range({count} - 1):
    if os.fork() == 0:
        while True: signal.pause()
print('all here', flush=True)
while True: signal.pause()
"""
    return [PYTHON, "-c", code, marker]


def job_control_shell(marker):
    """For a PTY: an interactive bash with background jobs in groups of their own."""
    return ["bash", "--norc", "-i", "-c", f"set -m; bash -c 'trap \"\" HUP TERM; while :; do sleep 1000; done' {marker}-job & "
            f"bash -c 'while :; do sleep 1000; done' {marker}-job2 & wait; sleep 1000", marker]
