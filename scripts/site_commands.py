"""The site's page of the command line, from the commands themselves."""

from __future__ import annotations

from typing import Any

import typer

from confide.cli import main as _commands  # noqa: F401  (it registers the commands)
from confide.cli.app import app

INTRODUCTION = """# Command line

Made from `confide --help`. `confide COMMAND --help` says the same on screen. Any bad input is one line on standard
error and status 2; an output file is written whole or not at all. [Files and streams](howto-files.md) says what a
table must be.
"""


def commands_page() -> str:
    """Return every command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    return "\n".join([INTRODUCTION, *(_section(name, command) for name, command in group.commands.items())])


def _section(name: str, command: Any) -> str:
    arguments = [each.name.upper() for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(["confide", name, *arguments, "[options]"])
    rows = [f"| {' | '.join(_row(each))} |" for each in command.params]
    head = ["| option | what it is | default |", "| --- | --- | --- |"]
    return "\n".join([f"## {name}\n", f"```text\n{usage}\n```\n", f"{command.help}\n", *head, *rows, ""])


def _row(parameter: Any) -> list[str]:
    argument = parameter.param_type_name == "argument"
    name = parameter.name.upper() if argument else parameter.opts[0]
    return [f"`{name}`", parameter.help.replace("|", "\\|"), "required" if parameter.required else _default(parameter)]


def _default(parameter: Any) -> str:
    """Return the default; none is shown for what is not asked for, and for switches."""
    return "" if parameter.default is None or isinstance(parameter.default, bool) else f"`{parameter.default}`"
