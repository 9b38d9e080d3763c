"""kadmit serve: the API server. Its options are those of `kadmit.server.flags`; here they only become a command."""

import gc
import sys
from typing import NoReturn

import click

from kadmit.server import startup
from kadmit.server.flags import FLAGS, Flag, Flags, FlagsError, parse
from kadmit.server.foreignflags import REFUSED, WITHOUT_EFFECT
from kadmit.server.startup import StartupError

CANNOT_START, BAD_FLAGS = 1, 2


class _Command(click.Command):
    """Speaks of unknown flags as kube-apiserver does, and takes `_` for `-` in names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, [_hyphenated(argument) for argument in args])
        except click.NoSuchOption as error:
            _fail(BAD_FLAGS, f"unknown flag: {error.option_name}")


def _hyphenated(argument: str) -> str:
    name, equals, value = argument.partition("=")
    return f"{name.replace('_', '-')}{equals}{value}" if name.startswith("--") else argument


def _option(name: str, flag: Flag) -> click.Option:
    """All texts come as they are, to be read with those of the file; a boolean flag without a value is true."""
    default = _default(name, flag)
    names = ["-v", "--v", "v"] if name == "v" else [f"--{name}", name.replace("-", "_")]
    shown = f"{flag.help} [default: {default}]" if default else flag.help
    if flag.metavar == "BOOL":
        return click.Option(names, multiple=True, metavar="BOOL", help=shown, is_flag=False, flag_value="true")
    return click.Option(names, multiple=True, metavar=flag.metavar, help=shown)


def _default(name: str, flag: Flag) -> str:
    if flag.shown:
        return flag.shown
    value = getattr(Flags(), name.replace("-", "_"))
    return str(value).lower() if isinstance(value, bool) else str(value) if value not in (None, "", (), {}) else ""


def _foreign_option(name: str) -> click.Option:
    return click.Option([f"--{name}", name.replace("-", "_")], multiple=True, hidden=True, is_flag=False, flag_value="true")


def _serve(**given: tuple[str, ...]) -> None:
    """Serve the Kubernetes API with its admission: policies, webhooks, RBAC, watches.

    Flags have kube-apiserver's names and meanings; those of its flags that mean nothing here are accepted with a warning.
    The first start makes certificates and a kubeconfig for the administrator.

    \b
      kadmit serve --storage=memory --secure-port=0
      kadmit serve --config=kadmit.yaml --audit-log-path=- --audit-policy-file=policy.yaml
    """
    try:
        flags = parse({name.replace("_", "-"): texts for name, texts in given.items() if texts})
    except FlagsError as error:
        _fail(BAD_FLAGS, *error.errors)
    for warning in flags.warnings:
        click.echo(f"warning: {warning}", err=True)
    gc.disable()
    with startup.without_system_roots():
        from kadmit import service
    gc.freeze()  # what has been loaded stays: nobody needs to look at it for garbage, now or ever
    gc.enable()
    try:
        service.serve(flags)
    except StartupError as error:
        _fail(CANNOT_START, str(error))


def _fail(code: int, *errors: str) -> NoReturn:
    for error in errors:
        click.echo(f"error: {error}", err=True)
    sys.exit(code)


command = _Command(
    "serve",
    callback=_serve,
    help=_serve.__doc__,
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[*(_option(name, flag) for name, flag in FLAGS.items()), *(_foreign_option(n) for n in (*WITHOUT_EFFECT, *REFUSED))],
)
