"""The command line: files in, intervals out. Heavy imports live inside the commands, so that help is instant."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, Any

import typer

from confide import __version__
from confide.base.threads import wait_passively
from confide.cli import answers, effects, evidence, selection, stories  # noqa: F401  (they register their commands)
from confide.cli.app import app
from confide.cli.clusters import with_address

# typer's public name for usage errors, and its exit status for an interrupt.
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]
INTERRUPTED, TERMINATED = 130, 143
# Words of messages, such as names of files and columns, are cut to so many characters.
LONGEST_WORD = 300
# How a number is written, by what the libraries that read options call it.
DECIMALS, DIGITS = " Write it with a decimal point and no unit, such as 0.5.", " Write digits alone, such as 5."
NO_NUMBER = {"number": DECIMALS, "float": DECIMALS, "int": DIGITS}


def main() -> None:
    """Run the command line; any bad input is one line on stderr and exit status 2."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows another
    wait_passively()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # temporary files are removed on the way out
    try:
        status = app(with_address(sys.argv[1:]), standalone_mode=False)
    except KeyboardInterrupt:  # before typer could hear it
        _fail("interrupted.", INTERRUPTED)
    except RuntimeError as error:
        if not isinstance(error.__cause__, KeyboardInterrupt):  # so Python 3.11 tells it of where a class is made
            raise
        _fail("interrupted.", INTERRUPTED)
    except UsageError as error:
        _fail(_usage(error))
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        _fail(_message(error))
    if status == INTERRUPTED:
        _fail("interrupted.", INTERRUPTED)
    sys.exit(status or 0)


def _usage(error: typer.BadParameter) -> str:
    """Return the message of a usage error; of an option that other commands have, which these are."""
    option = getattr(error, "option_name", None)
    commands = typer.main.get_group(app).commands
    having = [name for name, each in commands.items() if any(option in param.opts for param in each.params)]
    if not having or error.ctx is None:
        told, meant = _told(error), _meant(error)
        return f"{told.rstrip('.')}.{meant}" if meant else told
    return f"{error.ctx.info_name} has no option {option}; it is one of {', '.join(having)}."


def _told(error: typer.BadParameter) -> str:
    """Return what is wrong with a value, which is named even where the library that read it leaves it out."""
    failed: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if not failed or error.param is None:
        return error.format_message()
    wanted = failed[0]["msg"].partition(", unable")[0].replace("Input should", "must")
    return f"{error.param.opts[0]} {wanted}, got {failed[0]['input']!r}."


def _meant(error: typer.BadParameter) -> str:
    """Return the remedy for a value that is no number: what was probably meant by a level, such as 90%."""
    from confide.conformal.quantile import REMEDIES

    level = REMEDIES.get(str(getattr(getattr(error, "param", None), "name", None)), "")
    kinds = (each for each in NO_NUMBER if f"a valid {each}" in error.message)
    return level or next((NO_NUMBER[each] for each in kinds), "")


def _message(error: Exception) -> str:
    """Return an error's message; system errors name the file."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error) or type(error).__name__


def _fail(message: str, status: int = 2) -> None:
    """Print one line on stderr and exit."""
    words = (word if len(word) <= LONGEST_WORD else f"{word[:LONGEST_WORD]}…" for word in message.split())
    typer.echo(f"confide: {' '.join(words)}", err=True)
    sys.exit(status)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"confide {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Show the help if no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


if __name__ == "__main__":
    main()
