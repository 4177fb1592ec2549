"""Writes an image for containers, of nothing but the program, as an archive in the layout of OCI: no daemon is needed, and the same
files give the same bytes.

Usage: oci.py FOLDER VERSION PROCESSOR OUT.tar
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
"""As Rust and as OCI call them."""
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    """Adds a file that belongs to root and is as old as time."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def layer(folder: Path) -> bytes:
    """The file system of the image: the program and what its licences ask for."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        add(archive, "bentpipe", (folder / "bentpipe").read_bytes(), 0o755)
        for name in sorted(("LICENSE-APACHE", "LICENSE-MIT", "NOTICES")):
            add(archive, f"usr/share/doc/bentpipe/{name}", (folder / name).read_bytes())
    return content.getvalue()


def image(folder: Path, version: str, processor: str) -> dict[str, bytes]:
    """The files of the layout by their names."""
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}

    def document(value: dict[str, Any]) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    files = blob("application/vnd.oci.image.layer.v1.tar", layer(folder))
    config = blob(
        "application/vnd.oci.image.config.v1+json",
        document(
            {
                "architecture": PROCESSORS[processor],
                "os": "linux",
                "config": {"Entrypoint": ["/bentpipe"], "WorkingDir": "/"},
                "rootfs": {"type": "layers", "diff_ids": [files["digest"]]},
            }
        ),
    )
    manifest = blob(
        MANIFEST, document({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [files]})
    )
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    manifest["platform"] = {"architecture": PROCESSORS[processor], "os": "linux"}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]}
    layout = {"imageLayoutVersion": "1.0.0"}
    return {"oci-layout": document(layout), "index.json": document(index), **dict(sorted(blobs.items()))}


def main() -> None:
    folder, version, processor, out = sys.argv[1:]
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in image(Path(folder), version, processor).items():
            add(archive, name, content)


if __name__ == "__main__":
    main()
