"""The command line: one file a command, loaded when it is called, so that no command pays for another's imports."""

import importlib
from collections.abc import Sequence
from typing import Any

import click

from kadmit.cli import streams

_COMMANDS = {
    "eval": ("kadmit.cli.eval", "Evaluate a CEL expression as kube-apiserver does."),
    "admit": ("kadmit.cli.admit", "Run the whole admission chain on manifests."),
    "explain": ("kadmit.cli.explain", "Tell what every policy and webhook does with a request, and why."),
    "check": ("kadmit.cli.check", "Check policies, bindings and webhook configurations."),
    "test": ("kadmit.cli.test", "Run suites of requests with what is expected of them."),
    "init": ("kadmit.cli.init", "Write a first policy and a suite that tests it."),
    "audit-replay": ("kadmit.cli.audit_replay", "Replay the requests of an audit log through new policies."),
    "impact": ("kadmit.cli.impact", "Hold objects that are there already against new policies."),
    "serve": ("kadmit.cli.serve", "Serve the Kubernetes API with its admission."),
    "webhook": ("kadmit.cli.webhook", "Serve webhooks: policies in a cluster, functions in Python."),
    "completion": ("kadmit.cli.completion", "Print the completion script of a shell."),
}


class _Commands(click.Group):
    """Knows its commands by name and help line; imports one when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        command: click.Command = importlib.import_module(module).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        streams.ensure()
        with streams.guarded():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="kadmit", message="kadmit %(version)s")
def main() -> None:
    """Kubernetes dynamic admission control as software of its own."""


def run(arguments: Sequence[str] | None = None) -> None:
    """For `python -m kadmit`."""
    main(args=arguments, prog_name="kadmit")
