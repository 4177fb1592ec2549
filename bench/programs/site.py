"""Makes a site of one page with a hundred objects: styles, scripts and pictures of 1 to 60 KB.

The page tells its server when it was loaded, `/loaded?MILLISECONDS&OBJECTS`, where OBJECTS counts those that the
browser has with the content, by SHA-256, that was made here.

usage: site.py DIRECTORY
"""

import hashlib
import json
import random
import struct
import sys
import zlib
from pathlib import Path

STYLES, SCRIPTS, PICTURES = 10, 20, 70

PAGE = """<!doctype html>
<meta charset="utf-8">
<title>A hundred objects</title>
<link rel="icon" href="data:,">
{tags}
<script>
addEventListener("load", () => setTimeout(async () => {{
    const took = performance.timing.loadEventEnd - performance.timing.navigationStart;
    let right = 0;
    for (const [name, expected] of Object.entries({hashes})) {{
        const answer = await fetch(name, {{cache: "force-cache"}});
        const digest = await crypto.subtle.digest("SHA-256", await answer.arrayBuffer());
        const found = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0"));
        right += found.join("") === expected;
    }}
    fetch(`/loaded?${{took}}&${{right}}`);
}}));
</script>
"""


def picture(noise: random.Random, side: int) -> bytes:
    """A PNG file of noise, which nothing compresses."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + noise.randbytes(side) for _ in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    data = zlib.compress(rows, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def main() -> None:
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    noise = random.Random(1)
    hashes, tags = {}, []

    def add(name: str, content: bytes, tag: str) -> None:
        (directory / name).write_bytes(content)
        hashes[name] = hashlib.sha256(content).hexdigest()
        tags.append(tag.format(name=name))

    def text(size: int) -> bytes:
        return b"/* " + noise.randbytes(size // 2).hex().encode() + b" */\n"

    for number in range(STYLES):
        size = noise.randrange(1_000, 20_000)
        add(f"{number}.css", text(size), '<link rel="stylesheet" href="{name}">')
    for number in range(SCRIPTS):
        size = noise.randrange(1_000, 40_000)
        add(f"{number}.js", text(size), '<script src="{name}"></script>')
    for number in range(PICTURES):
        side = noise.randrange(32, 245)
        add(f"{number}.png", picture(noise, side), '<img src="{name}" alt="">')
    page = PAGE.format(tags="\n".join(tags), hashes=json.dumps(hashes))
    (directory / "index.html").write_text(page)


if __name__ == "__main__":
    main()
