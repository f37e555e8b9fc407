"""Entry point: subcommands, and the one place where whatever goes wrong becomes a line."""

import io
import os
import sys
import traceback
from typing import Annotated, Any

import typer

import steinquad
from steinquad.cli import study
from steinquad.cli.demo import demo
from steinquad.cli.integrate import integrate
from steinquad.cli.posterior import posterior
from steinquad.errors import InputError
from steinquad.paper.commands import draw, truth
from steinquad.paper.commands.reproduce import reproduce
from steinquad.terminal.commands import new_app
from steinquad.terminal.plain import one_line

__all__ = ["app", "main"]

FAILED, WRONG, STOPPED = 1, 2, 130  # exit codes; `cli.suspect` has another
SHOW_TRACEBACK = "STEINQUAD_TRACEBACK"  # in the environment, for reports of bugs
EXIT_CODES = (
    "Exit codes: 0 an answer; 1 a failure of the program, of a run of reproduce, or of a truth to "
    "agree; 2 wrong input; 3 an answer that is suspect; 130 stopped by Ctrl-C."
)
# What Typer, or click under an older Typer, raises for a wrong command line.
UsageError: Any = typer.BadParameter.__base__

app = new_app("Expectations with honest error bars from few evaluations.", epilog=EXIT_CODES)
STUDIES = (study.init, study.run, study.status, study.estimate, study.report, study.export)
OTHERS = "Examples, and the paper"
# What most people need comes first.
COMMANDS = {
    "From points or draws in a file": (integrate, posterior),
    "A study: a simulator run for you, and what came of it": STUDIES,
    OTHERS: (demo, reproduce),
}
for heading, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=heading)(command)
app.add_typer(draw.app, name="draw", rich_help_panel=OTHERS)
app.add_typer(truth.app, name="truth", rich_help_panel=OTHERS)


def main() -> None:
    """Run the command `steinquad` with the arguments of this process, and exit.

    Whatever goes wrong is one line on standard error, never a traceback: exit code 2 for what the
    user can mend, 1 for what is a bug; `STEINQUAD_TRACEBACK=1` shows where that is.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started this: nobody reads it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A name in a file may have letters that a terminal has not: printing it is no failure.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    raise SystemExit(_exit_code())


def _exit_code() -> int:
    try:
        code = app(prog_name="steinquad", standalone_mode=False)
        sys.stdout.flush()  # here, where a full disk can still be reported
        return code if isinstance(code, int) else 0
    except UsageError as error:
        place = getattr(error.ctx, "command_path", "steinquad")
        problem = error.format_message().strip().removesuffix(".")
        return _complain(f"{problem}; see {place} --help.", WRONG)
    except InputError as error:
        return _complain(str(error), WRONG)
    except BrokenPipeError:
        # Whoever read the output has gone: the interpreter must not try again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        return _complain("stopped.", STOPPED)
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        return _complain(f"{where}{error.strerror or error}.", WRONG)
    except MemoryError as error:
        return _complain(f"out of memory ({error}); give it less, or more memory.", WRONG)
    except Exception as error:
        if SHOW_TRACEBACK in os.environ:
            traceback.print_exc()
        return _complain(
            f"a bug of steinquad ({type(error).__name__}: {error}); please report it, with what "
            f"{SHOW_TRACEBACK}=1 in the environment shows.",
            FAILED,
        )


def _complain(message: str, code: int) -> int:
    try:
        sys.stderr.write(f"steinquad: {one_line(message)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # full, closed, or nobody reads it: the code still tells
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    return code


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"steinquad {steinquad.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Expectations with honest error bars from few evaluations."""
