"""kadmit completion: what a shell needs to complete commands, flags and files."""

import click
from click import shell_completion

_VARIABLE = "_KADMIT_COMPLETE"


@click.command("completion", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    \b
      kadmit completion bash > ~/.local/share/bash-completion/completions/kadmit
      kadmit completion zsh > ~/.zfunc/_kadmit          # with ~/.zfunc in fpath, before compinit
      kadmit completion fish > ~/.config/fish/completions/kadmit.fish

    Exit code: 0.
    """
    made = shell_completion.get_completion_class(shell)
    assert made is not None, "click knows all that can be chosen"
    complete = made(context.find_root().command, {}, "kadmit", _VARIABLE)
    # NB: not complete.source(), which would ask for the version of a bash that need not be the one completed for.
    click.echo(complete.source_template % complete.source_vars(), nl=False)
