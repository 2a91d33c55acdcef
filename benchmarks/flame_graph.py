"""A flame graph (SVG) of what `perf record --call-graph dwarf` wrote: flame_graph.py PERF_DATA TITLE > graph.svg

Width is the share of the processor's time, each row is called by the one below it, the lowest row names the thread. Frames below
0.3 % are left out, so that the graphs fit into the documentation. Hover a frame for its name and share."""
import html
import re
import subprocess
import sys

WIDTH, ROW, SMALLEST = 1200, 15, 0.003
COLOURS = ("#f4a259", "#e9c46a", "#e76f51", "#f2b880", "#d98c5f")
KERNEL = "#8ab6d6"


def short(name):
    """Without parameters and template arguments, which make most of a C++ name."""
    name = re.sub(r"\(anonymous namespace\)::|\[clone [^]]*\]|\+0x[0-9a-f]+$", "", name)
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", name)) != name:
        name = shorter
    return name.replace("quell::", "").replace(" const", "").strip() or "?"


def stacks(data):
    """(thread, frames from the outermost inwards, is_kernel of each) for every sample."""
    text = subprocess.run(["perf", "script", "--no-inline", "-F", "comm,ip,sym,dso", "-i", data], capture_output=True, text=True, check=True).stdout
    for sample in text.split("\n\n"):
        lines = [line for line in sample.split("\n") if line.strip()]
        if len(lines) < 2:
            continue
        frames = []
        for line in reversed(lines[1:]):
            found = re.match(r"\s*[0-9a-f]+ (.*) \(([^()]*)\)$", line)
            if found and found[1] != "[unknown]":
                frames.append((short(found[1]), "kernel" in found[2] or "guest" in found[2]))
        yield lines[0].strip(), frames


def tree_of(samples):
    root = {"count": 0, "kernel": False, "below": {}}
    for thread, frames in samples:
        at = root
        at["count"] += 1
        for name, kernel in [(thread, False), *frames]:
            at = at["below"].setdefault(name, {"count": 0, "kernel": kernel, "below": {}})
            at["count"] += 1
    return root


def rows(node, total, depth=0, left=0.0):
    """(name, depth, left, width, kernel) of each frame that is wide enough; shares of 1."""
    for name, child in sorted(node["below"].items()):
        width = child["count"] / total
        if width >= SMALLEST:
            yield name, depth, left, width, child["kernel"]
            yield from rows(child, total, depth + 1, left)
        left += width


def drawn(title, frames):
    height = (max(depth for _, depth, *_ in frames) + 1) * ROW + 30
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="10">'
           f'<rect width="100%" height="100%" fill="#fff"/><text x="6" y="16" font-size="13">{html.escape(title)}</text>')
    for name, depth, left, width, kernel in frames:
        x, y, w = left * WIDTH, height - (depth + 1) * ROW, width * WIDTH
        text = html.escape(name[:int(w / 6.2)]) if w > 24 else ""
        colour = KERNEL if kernel else COLOURS[sum(name.encode()) % len(COLOURS)]
        yield (f'<g><title>{html.escape(name)}: {width:.1%}</title><rect x="{x:.1f}" y="{y}" width="{w:.1f}" height="{ROW - 1}" fill="{colour}"/>'
               f'<text x="{x + 2:.1f}" y="{y + 11}">{text}</text></g>')
    yield "</svg>"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree = tree_of(stacks(sys.argv[1]))
    if tree["count"] == 0:
        sys.exit(f"flame_graph.py: {sys.argv[1]} holds no samples")
    print("\n".join(drawn(f"{sys.argv[2]} ({tree['count']:,} samples)", list(rows(tree, tree["count"])))))
