"""``priorwise completion``: scripts that complete commands, options and their values."""

from __future__ import annotations

from argparse import Namespace

from priorwise.cli.parser import OneLineParser, build_parser

_ZSH = "autoload -Uz bashcompinit && bashcompinit\n"
"""What zsh needs before the script."""

_SCRIPT = """\
# Completion of priorwise: source <(priorwise completion {shell})
_priorwise() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}} $before" in
{values}
        esac
        if [[ -z $words && $word == -* ]]; then
            case "${{COMP_WORDS[1]}}" in
{options}
            esac
        fi
    fi
    [[ -z $words ]] || COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _priorwise priorwise
"""


def run_completion(options: Namespace) -> None:
    """Print the script for a shell."""
    script = _write_script(build_parser(), options.shell)
    print(_ZSH + script if options.shell == "zsh" else script, end="")


def _write_script(parser: OneLineParser, shell: str) -> str:
    commands = [*parser.commands, *_option_names(parser)]
    values, options = [], []
    for name, command in parser.commands.items():
        options.append(f'            {name}) words="{" ".join(_option_names(command))}";;')
        for action in command.listed:
            if action.choices:
                words = " ".join(map(str, action.choices))
                # Values of an option follow it, those of an argument its command.
                places = " | ".join(f'"{name} {at}"' for at in action.option_strings or [name])
                values.append(f'        {places}) words="{words}";;')
    return _SCRIPT.format(
        shell=shell,
        commands=" ".join(commands),
        values="\n".join(values),
        options="\n".join(options),
    )


def _option_names(parser: OneLineParser) -> list[str]:
    return [text for action in parser.listed for text in action.option_strings]
