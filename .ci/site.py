"""What the site needs besides what mkdocs does: pages that are made, and links that lead out of `docs/`."""

import re
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = re.compile(r"^(Examples?:)\n((?:  .*\n)+)", re.MULTILINE)
PREAMBLE = "This document contains the help content for the `bentpipe` command-line program.\n\n"
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)]*)?\)")


def on_files(files, config):
    """Adds the pages of the commands and of the keys of files, which the program writes, and the list of decisions."""
    program = ROOT / "target/debug/bentpipe"
    commands = subprocess.run([program, "man", "--markdown"], check=True, capture_output=True, text=True).stdout
    commands = EXAMPLES.sub(r"**\1**\n\n```\n\2```\n", commands).replace(PREAMBLE, "")
    files.append(File.generated(config, "reference/commands.md", content=commands))
    for kind in ["scenario", "gateway"]:
        keys = subprocess.run([program, "schema", kind, "--markdown"], check=True, capture_output=True, text=True).stdout
        files.append(File.generated(config, f"reference/{kind}-keys.md", content=keys))
    lines = ["# Decisions\n", "Each is half a page: what was chosen, what else there was, why.\n"]
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        lines.append(f"* [{title}]({path.name})")
    files.append(File.generated(config, "decisions/index.md", content="\n".join(lines) + "\n"))
    return files


def on_page_markdown(markdown, page, config, files):
    """A link to a file of the repository that is no page becomes the name of the file, which must be there."""

    def told(match):
        text, target = match[1], match[2]
        path = (Path(config.docs_dir) / page.file.src_uri).parent.joinpath(target).resolve()
        if path.is_relative_to(Path(config.docs_dir).resolve()):
            return match[0]
        if not path.exists():
            raise PluginError(f"{page.file.src_uri}: {target} is not there")
        return f"{text} (`{path.relative_to(ROOT)}`)"

    return LINK.sub(told, markdown)
