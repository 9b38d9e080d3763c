"""kadmit webhook: a group of commands, of which `serve` is meant where none is named."""

import importlib

import click

_COMMANDS = {
    "serve": ("kadmit.cli.webhook_serve", "Serve policies as webhooks, in a cluster or from files."),
    "run": ("kadmit.cli.webhook_run", "Run webhooks that are written in Python."),
    "install": ("kadmit.cli.webhook_install", "Bring definitions of policies to a cluster that has none."),
    "manifests": ("kadmit.cli.webhook_manifests", "Print what a cluster needs to run this webhook."),
}
_DEFAULT = "serve"


class _Group(click.Group):
    """Imports a command when it runs. What begins with an option is for the default one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name][0]).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group("webhook", cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Serve policies as admission webhooks, for clusters that have no such policies or shall not run them themselves.

    Without a command, serve.

    \b
      kadmit webhook
      kadmit webhook -f policies/ --plain-http --port 8080
      kadmit webhook manifests | kubectl apply -f -

    Exit code: 0 ended as it was told to, 1 could not start or do its work, 2 bad options or input.
    """
