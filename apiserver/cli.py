"""The command line: `inkube serve`, and the other commands in `commands`.

Each command is loaded at its first use, because the code that checks files offline would add half a
second to every start of a server.
"""

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

import inkube
from inkube import storage
from inkube.apiserver import access, commands, configuration, modules, process, workers
from inkube.apiserver.auth import new_token
from inkube.apiserver.commands import serveoptions, terminal
from inkube.apiserver.configuration import LOCAL, BadOption, Options
from inkube.apiserver.http import logs
from inkube.schemas import lazy
from inkube.storage import StorageError

logger = logging.getLogger("inkube.apiserver.cli")  # also when it runs as __main__
_UNLISTED = frozenset({"import-module"})
"""Commands that inkube itself runs."""
_OPTIONS = frozenset({"help", "version"})
"""Options that are also understood as commands."""


class _Commands(click.Group):
    """The commands of this module, and those that `commands` offers, each of which is loaded at its
    first use: `world_command` is `inkube world`."""

    @property
    def later(self) -> Mapping[str, str]:
        """Command → its name in `commands`."""
        return {
            name.removesuffix("_command").replace("_", "-"): name
            for name in commands.__all__
            if name.endswith("_command")
        }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. `help serve` and `version` mean the options, as people know these
        words from kubectl."""
        if args and args[0] in _OPTIONS:
            args = [*args[1:], f"--{args[0]}"]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, also of those that are not loaded."""
        return sorted({*super().list_commands(ctx), *self.later} - _UNLISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command, and return it; None if it does not exist."""
        name = self.later.get(cmd_name)
        if name is None:
            return super().get_command(ctx, cmd_name)
        found: click.Command = getattr(commands, name)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. A library that is too old and an error of the system are messages without
        a traceback. An interrupt has an exit code of its own, because 1 says what was found."""
        try:
            return super().invoke(ctx)
        except lazy.OutdatedLibrary as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            raise  # nobody reads the output any more: click ends without a word
        except OSError as error:
            raise click.ClickException(commands.failures.text(error)) from error
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(commands.failures.INTERRUPTED)


class _Serve(click.Command):
    """`inkube serve`, with the options of modules in installed packages.

    Installed packages are searched only if the command line names modules, and for `--help`. Other
    starts save this time.
    """

    of_modules: tuple[str, ...] = ()
    """The names of the options of modules."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Help and `--modules` first add the options of modules."""
        asked = ("-h", "--help", "--modules")
        if any(each.partition("=")[0] in asked for each in args):
            self.of_modules += serveoptions.add_installed(self)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a heading for each group of options."""
        rows: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx)
            if row is not None:
                group = getattr(param, "group", configuration.OTHER)
                rows.setdefault(group, []).append(row)
        for title in (*configuration.GROUPS, serveoptions.OF_MODULES):
            if title in rows:
                with formatter.section(title):
                    formatter.write_dl(rows[title])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 all is well; 1 it cannot be done, or what was looked at is wrong; "
    "2 the command line is wrong.",
)
@click.version_option(
    package_name="inkube",
    prog_name="inkube",
    message="%(prog)s %(version)s, Python " + sys.version.split()[0],
)
def main() -> None:
    """A Kubernetes-style API server that lives inside a Python process."""


@main.command(
    cls=_Serve, params=[click.Argument(["source"], required=False), *serveoptions.every()]
)
def serve(**arguments: Any) -> None:
    """Run a server until you interrupt it.

    With SOURCE, a dump of a cluster (see `inkube import`), show it, read-only.
    """
    style = _configure_logs(arguments)
    with contextlib.ExitStack() as stack:
        _import_source(arguments, stack)
        _run(arguments, style)


def _import_source(arguments: dict[str, Any], stack: contextlib.ExitStack) -> None:
    """Import the dump that the command line names, and show it as it is: read-only, without kinds
    of inkube."""
    source = arguments.pop("source")
    if not source:
        return
    for name in ("in_memory", "database", "replay", "snapshot", "at"):
        if arguments[name]:
            raise click.UsageError(f"SOURCE and --{name.replace('_', '-')} cannot be combined")
    temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="inkube-serve-"))
    file = arguments["data"] or Path(temporary, "cluster.db")
    importdump = commands.importdump
    found = importdump.run(importdump.source_of(source), file)
    importdump.show(found)
    arguments |= {"data": file, "at": found.dump.revision}
    context = click.get_current_context()
    if context.get_parameter_source("modules") is click.core.ParameterSource.DEFAULT:
        arguments["modules"] = "none"


def _run(arguments: dict[str, Any], style: str) -> None:
    """Serve with the arguments of the command line."""
    target = arguments.pop("kubeconfig") or Path("inkube.kubeconfig")
    count = arguments.pop("workers")
    code = _code(arguments.pop("reload"))
    given = _of_modules(arguments)
    try:
        options = Options(**_values(arguments), module_options=given)
    except BadOption as error:
        raise click.BadParameter(error.why, param_hint=serveoptions.flag(error.name)) from error
    if scenario := options.value_of("scenario"):
        commands.world.scenario_named(scenario, "--scenario")
    for danger in process.dangers.risks(options):
        logger.warning("%s", danger)
    try:
        if not target.parent.is_dir():  # found before the start creates a data file
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target))
        count = count or workers.count(options)
        if code is not None and count > 1:
            raise click.UsageError("--reload works in one process: use it without --workers")
        if count > 1:
            sys.exit(_serve_with(count, options, target, style))
        with process.collector.rare_collections():
            process.eventloop.run(_serve(options, target, style, code))
    except (StorageError, OSError, ValueError) as error:
        raise commands.problems.of_start(error, options) from error
    except KeyboardInterrupt:  # Windows has no signal handlers: Ctrl+C raises in the loop
        _print(style, "stopping")


def _serve_with(count: int, options: Options, target: Path, style: str) -> int:
    """Serve with `count` processes. Returns the exit code. Raises OSError, ValueError."""
    workers.check(options)
    access.security.check(options)

    def serve(worker: workers.Worker) -> int:
        own = replace(options, worker=worker)
        try:
            with process.collector.rare_collections():
                process.eventloop.run(_serve(own, target, style))
        except (StorageError, OSError, ValueError) as error:
            problem = commands.problems.of_start(error, options)
            problem.show()
            return problem.exit_code
        return 0

    parent = workers.Parent(
        count,
        (options.host, options.port),
        serve,
        certificate=access.security.shared(options),
        admin_token=new_token(),
        style=style,
    )
    code = parent.run()
    if not code:
        _print(style, "stopping")
    return code


def _code(module: str) -> "commands.reloading.Code | None":
    """Return the imported module of `--reload`, or None without the option."""
    if not module:
        return None
    try:
        return commands.reloading.Code(module)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--reload") from error


def _configure_logs(arguments: dict[str, Any]) -> str:
    """Configure logging. Returns the style of the log, text or json."""
    verbose, quiet = arguments.pop("verbose"), arguments.pop("quiet")
    level = logging.DEBUG if verbose > 1 else logging.WARNING if quiet else logging.INFO
    style: str = arguments.pop("log_format")
    logs.configure(
        style=style,
        level=level,
        requests=bool(verbose) and not quiet,
        colours=terminal.has_colours(sys.stderr),
    )
    return style


def _of_modules(arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of modules from the arguments, and return those that were given."""
    context = click.get_current_context()
    assert isinstance(context.command, _Serve)
    values = {name: arguments.pop(name) for name in context.command.of_modules}
    default = click.core.ParameterSource.DEFAULT
    return {
        name: value
        for name, value in values.items()
        if context.get_parameter_source(name) is not default
    }


def _values(arguments: dict[str, Any]) -> Any:
    """Return the values of `Options` from the arguments of the command line."""
    in_memory, data = arguments.pop("in_memory"), arguments.pop("data")
    given = {
        "--in-memory": in_memory,
        "--data": data,
        "--database": arguments["database"],
        "--replay": arguments["replay"],
        "--snapshot": arguments["snapshot"],
    }
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} cannot be combined: give only one of them")
    arguments["data"] = None if chosen and not data else data or LOCAL
    for member in ("enable_admission_plugins", "disable_admission_plugins"):
        arguments[member] = [name for given in arguments[member] for name in given.split(",")]
    described = serveoptions.of_workloads()
    workloads = {each.name: arguments.pop(each.name) for each in described}
    changed = [each for each in described if workloads[each.name] not in (each.default, ())]
    if changed and not arguments["workloads"]:
        names = ", ".join(each.flag_name for each in changed)
        raise click.UsageError(f"{names}: without --workloads nothing simulates nodes and pods")
    if arguments["workloads"]:
        arguments["enable_admission_plugins"].append("ServiceAccount")
        try:
            arguments["workloads"] = inkube.Workloads(**workloads, kubelet_events=True)
        except ValueError as error:
            raise click.UsageError(f"--{error}") from error
    serveoptions.turn_off(arguments)
    return arguments


async def _serve(
    options: Options, target: Path, style: str, code: "commands.reloading.Code | None" = None
) -> None:
    is_worker = options.worker is not None  # the parent forwards interrupts to workers
    stop = process.eventloop.Stop([signal.SIGTERM] if is_worker else process.eventloop.SIGNALS)
    if code is not None:
        await _serve_code(options, target, style, stop, code)
        return
    async with contextlib.AsyncExitStack() as stack:
        server = inkube.APIServer(options)
        server.before_ready = partial(_write_access, server, target)
        if is_worker:
            await _work(server, stack, stop, target, style)
            return
        if await _start_server(server, stack, stop):
            with process.collector.of_process() or contextlib.nullcontext():
                _announce(server, target, style)
                await stop.requested.wait()
        _print(style, "stopping")
        await stop.finish(server.stop)


async def _serve_code(
    options: Options,
    target: Path,
    style: str,
    stop: "process.eventloop.Stop",
    code: "commands.reloading.Code",
) -> None:
    """Serve the kinds of a module. After each change of its code, start a new server on the same
    data."""
    options = replace(options, kinds=code.kinds)
    stopping = asyncio.create_task(stop.requested.wait())
    is_first = True
    while not stop.requested.is_set():
        async with contextlib.AsyncExitStack() as stack:
            server = inkube.APIServer(options)
            server.before_ready = partial(_write_access, server, target)
            runs = True
            try:
                if not await _start_server(server, stack, stop):
                    break
            except (TypeError, ValueError) as error:  # kinds that cannot be served
                if is_first:
                    raise
                logger.warning("no server runs: %s", error)
                runs = False
            if is_first:
                _announce(server, target, style)
            elif runs:
                logger.info("%s serves the new code", server.url)
            is_first = False
            changed = asyncio.create_task(code.wait_for_change())
            await asyncio.wait({stopping, changed}, return_when=asyncio.FIRST_COMPLETED)
            if changed.done():
                await changed
                options = replace(options, kinds=code.kinds)
                if runs:
                    options = await commands.reloading.options_to_continue(options, server)
            changed.cancel()
            if stop.requested.is_set():
                _print(style, "stopping")
                await stop.finish(server.stop)


async def _work(
    server: "inkube.APIServer",
    stack: contextlib.AsyncExitStack,
    stop: "process.eventloop.Stop",
    target: Path,
    style: str,
) -> None:
    """Serve as one of several workers, until it is stopped or its parent ends."""
    if not await _start_server(server, stack, stop) or server.intake is None:
        return
    intake = server.intake
    waiting = [
        asyncio.create_task(event.wait())
        for event in (stop.requested, intake.orphaned, intake.announces)
    ]
    waiting[-1].add_done_callback(
        lambda waiter: None if waiter.cancelled() else _announce(server, target, style)
    )
    with process.collector.of_process() or contextlib.nullcontext():
        await asyncio.wait(waiting[:-1], return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if intake.orphaned.is_set():  # no other process would stop this one
        shutil.rmtree(server.options.worker.folder, ignore_errors=True)
    else:
        await stop.finish(server.stop)


async def _start_server(
    server: "inkube.APIServer", stack: contextlib.AsyncExitStack, stop: "process.eventloop.Stop"
) -> bool:
    """Start, and show the progress. Returns False if a signal arrived first. Raises the exceptions
    of a start."""
    starting = asyncio.create_task(stack.enter_async_context(server))
    stopping = asyncio.create_task(stop.requested.wait())
    async with terminal.print_progress(lambda: server.stage):
        with process.collector.paused():
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not starting.done():
        starting.cancel()
        await asyncio.wait({starting})
        return False
    await starting
    return True


def _write_access(server: "inkube.APIServer", target: Path) -> None:
    """Write the kubeconfig. If the server created its certificate, also write that of its
    authority."""
    before = access.kubeconfig.server_of(target)
    if before not in ("", server.url) and commands.ports.is_serving(before):
        logger.warning(
            "%s led to another server, which still runs at %s; now it leads to %s. "
            "Give each server its own file with --kubeconfig",
            target,
            before,
            server.url,
        )
    access.kubeconfig.write(target, server.kubeconfig())
    authority, certificate = _authority(server.options, target), server.security.certificate
    if authority != server.options.tls_cert_file and authority is not None:
        storage.wholefiles.write(authority, certificate.authority if certificate else b"")


def _authority(options: Options, target: Path) -> Path | None:
    """Return the file with the certificate authority that clients must trust, if the server uses
    TLS."""
    made = options.tls and options.tls_cert_file is None
    return target.with_suffix(".ca.crt") if made else options.tls_cert_file


def _print(style: str, text: str, **members: str) -> None:
    """Print a text for the user of the command. If the log is JSON, print it as a line of the
    log."""
    if style == "json":
        text = logs.JSONFormatter().format(
            logging.makeLogRecord({
                "name": logger.name, "levelname": "INFO", "msg": text, **members,
            })
        )  # fmt: skip
    terminal.print_line(text)


def _announce(server: "inkube.APIServer", target: Path, style: str) -> None:
    """Print how to continue, and log which loop serves."""
    _print_welcome(server, target, style)
    logger.info("%s", server.parts.core.listener.server.description)


def _print_welcome(server: "inkube.APIServer", target: Path, style: str) -> None:
    options, authority = server.options, _authority(server.options, target)
    if style == "json":
        _print(
            style,
            f"inkube serves on {server.url}",
            url=server.url,
            kubeconfig=str(target),
            data=_storage_text(server),
            console=f"{server.url}/console/",
        )
        return
    lines = terminal.welcome(
        server.url,
        target,
        storage_text=f"data: {_storage_text(server)}",
        authority=authority,
        has_token=bool(server.security.token),
        about=_about(options, read_only=server.parts.core.read_only),
    )
    for line in lines:
        terminal.print_line(line)


def _storage_text(server: "inkube.APIServer") -> str:
    """Return the location of a server's data, and the process that shares it on this machine."""
    options, leadership = server.options, server.parts.leadership
    if not options.data and not options.database:
        return "in memory, gone with the process"
    where = "in the database" if options.database else str(options.data)
    is_worker = options.worker is not None  # it shares its data with the other workers
    other = 0 if leadership is None or is_worker else leadership.leading_process
    return f"{where}, shared with process {other}, which runs the controllers" if other else where


def _about(options: Options, *, read_only: bool) -> Iterator[str]:
    """Yield sentences about what is served, for the welcome text."""
    if read_only:
        yield "Writes are refused, because this server shows a past state or a dump."
        yield "To load manifests into a server that accepts writes, use --definitions."
    elif not options.workloads:
        hint = "" if options.hints else " With --hints, events of objects say what does not run."
        yield f"Pods stay Pending, because nothing runs them; --workloads simulates nodes.{hint}"
    yield from _about_modules(options)


def _about_modules(options: Options) -> Iterator[str]:
    """Yield sentences about the modules that are served by default, for the welcome text."""
    known = modules.built_in()
    names = [name for name in modules.DEFAULT if name in options.module_names and name in known]
    if not names:
        return
    listed = ", ".join(f"{name} ({known[name].about})" for name in names)
    yield f"Besides the kinds of Kubernetes, this server has those of modules: {listed}."
    yield "To serve the kinds of Kubernetes only, add --modules none."
    if "world" in names:
        yield _about_world(options)


def _about_world(options: Options) -> str:
    who = "real systems and simulated ones; add --offline for simulated ones only."
    if options.value_of("offline"):
        who = "simulated systems only, because of --offline."
    if scenario := options.value_of("scenario"):
        return f"Live checks ask {who} The scenario {scenario} was loaded."
    return f"Live checks ask {who} inkube world list shows scenarios."


if __name__ == "__main__":
    main()
