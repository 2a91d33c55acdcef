"""Live processes, from /proc alone."""
import os

OWN_PROGRAMS = ("quelld", "quell-worker", "quell-guardian", "quell")


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def name_of(pid):
    return read(f"/proc/{pid}/comm").decode(errors="replace").strip()


def state_of(pid):
    stat = read(f"/proc/{pid}/stat").decode(errors="replace")
    return stat.rpartition(")")[2].split()[0] if ")" in stat else None


def parent_of(pid):
    stat = read(f"/proc/{pid}/stat").decode(errors="replace")
    return int(stat.rpartition(")")[2].split()[1]) if ")" in stat else None


def alive(pid):
    return state_of(pid) not in (None, "Z", "X")


def marked(marker):
    """Pids of living processes with `marker` in their command line, except our own programs and this test."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        line = read(f"/proc/{entry}/cmdline")
        if marker.encode() in line and alive(int(entry)) and os.path.basename(line.split(b"\0")[0].decode(errors="replace")) not in OWN_PROGRAMS:
            found.append(int(entry))
    return found


def ignores(pid, number):
    """True if the process ignores this signal: its `trap` was executed."""
    ignored = [line for line in read(f"/proc/{pid}/status").decode().splitlines() if line.startswith("SigIgn:")]
    return bool(ignored) and int(ignored[0].split()[1], 16) >> (number - 1) & 1 == 1


def children_of(pid):
    return [int(e) for e in os.listdir("/proc") if e.isdigit() and parent_of(int(e)) == pid]


def cgroup_mount():
    for line in read("/proc/self/mountinfo").decode().splitlines():
        left, _, right = line.partition(" - ")
        if right.startswith("cgroup2 "):
            return left.split()[4]
    return None


def cgroups(containing):
    """Directories below the cgroup2 mount whose names contain the text."""
    mount = cgroup_mount()
    found = []
    if mount:
        for folder, names, _ in os.walk(mount):
            found += [os.path.join(folder, n) for n in names if containing in n]
    return found


def descriptors(pid):
    """The number of open descriptors of a process."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def guardian_of(worker):
    """The pid of a worker's guardian, or None."""
    for pid in children_of(worker):
        if os.path.basename(read(f"/proc/{pid}/cmdline").split(b"\0")[0]) == b"quell-guardian":
            return pid
    return None


def cpu_seconds(pid):
    fields = read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def address_space(pid):
    """Resident memory in bytes."""
    return int(read(f"/proc/{pid}/statm").split()[0]) * os.sysconf("SC_PAGE_SIZE")
