"""Draw the rooms of confide from its imports: `make rooms` writes docs/pictures/rooms.svg; --check compares.

The order of the rows is the contract in pyproject.toml. A line goes from a room to one that it imports, unless the
import is implied by others: what a room imports through another is not drawn again.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
WIDTH, HEIGHT, GAP, ROW, MARGIN, LANE = 170, 34, 40, 62, 14, 9
STYLE = (
    "rect{fill:#eef4fa;stroke:#0072B2;rx:6}text{font:13px sans-serif;fill:#222;text-anchor:middle}"
    "text.small{font-size:10px;fill:#555}path{fill:none;stroke:#777;stroke-opacity:.7}"
)


def layers() -> list[list[str]]:
    """Return the rooms, row by row, from the last to the first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows: list[str] = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip() for room in row.split("|")] for row in rows]


def imports(rooms: list[str]) -> dict[str, set[str]]:
    """Return which rooms each room imports, typing aside."""
    graph = grimp.build_graph("confide", exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            a, b = (name.removeprefix("confide.").split(".")[0] for name in (module, imported))
            if a in found and b in found and a != b:
                found[a].add(b)
    return found


def direct(found: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the imports that no chain of others implies; those back to a room above are left out."""
    place = {room: number for number, room in enumerate(found)}
    down = {room: {other for other in others if place[other] > place[room]} for room, others in found.items()}

    def reach(room: str) -> set[str]:
        return down[room].union(*(reach(other) for other in down[room])) if down[room] else set()

    return [
        (room, other)
        for room in down
        for other in sorted(down[room])
        if not any(other in reach(between) for between in down[room] - {other})
    ]


def drawing() -> str:
    """Return the picture as SVG."""
    rows = layers()
    rooms = [room for row in rows for room in row]
    row_of = {room: number for number, row in enumerate(rows) for room in row}
    drawn = direct(imports(rooms))
    far = [pair for pair in drawn if row_of[pair[1]] - row_of[pair[0]] > 1]
    widest = max(map(len, rows))
    aside = LANE * (len(far) // 2 + 2)
    width = 2 * (MARGIN + aside) + widest * WIDTH + (widest - 1) * GAP
    centre: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        start = (width - len(row) * WIDTH - (len(row) - 1) * GAP) / 2
        for place, room in enumerate(row):
            centre[room] = (start + place * (WIDTH + GAP) + WIDTH / 2, MARGIN + number * ROW)
    parts = []
    for room, other in drawn:
        (x, y), (to_x, to_y) = centre[room], centre[other]
        if (room, other) not in far:
            parts.append(
                f'<path d="M{x:g} {y + HEIGHT:g} C{x:g} {y + ROW - 10:g} {to_x:g} {to_y - 18:g} {to_x:g} {to_y:g}"/>'
            )
            continue
        # A line past other rows goes round them, in a lane of its own.
        number = far.index((room, other))
        side = -1 if x < width / 2 or (x == width / 2 and number % 2) else 1
        lane = width / 2 + side * (width / 2 - MARGIN - LANE * (number // 2))
        y, to_y = y + HEIGHT / 2 + number % 5 - 2, to_y + HEIGHT / 2 + number % 7 - 3
        parts.append(f'<path d="M{x + side * WIDTH / 2:g} {y:g} H{lane:g} V{to_y:g} H{to_x + side * WIDTH / 2:g}"/>')
    for room, (x, y) in centre.items():
        folder = ROOT / "src" / "confide" / room
        size = len(list(folder.glob("*.py"))) - 1 if folder.is_dir() else 1
        words = f"{size} module{'s' * (size != 1)}"
        parts.append(f'<rect x="{x - WIDTH / 2:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}"/>')
        parts.append(f'<text x="{x:g}" y="{y + 15:g}">{escape(room)}</text>')
        parts.append(f'<text class="small" x="{x:g}" y="{y + 28:g}">{words}</text>')
    height = 2 * MARGIN + (len(rows) - 1) * ROW + HEIGHT
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img"><title>The rooms of confide and what they import</title>\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the picture is not what the imports make")
    if not parser.parse_args().check:
        PICTURE.write_text(drawing(), encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != drawing():
        sys.exit(f"{PICTURE.name} is not what the imports make: run `make rooms`.")
