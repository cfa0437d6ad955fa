"""``priorwise completion``: scripts that complete commands, options and their values."""

from __future__ import annotations

from argparse import Action, Namespace

from priorwise.cli.parser import OneLineParser, build_parser

_BASH = """\
# Completion of priorwise for bash: source <(priorwise completion bash)
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
_ZSH = """\
#compdef priorwise
# Completion of priorwise for zsh: source <(priorwise completion zsh)
_priorwise() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{options}
    esac
}}
compdef _priorwise priorwise
"""


def run_completion(options: Namespace) -> None:
    """Print the script for a shell."""
    parser = build_parser()
    print(_write_bash(parser) if options.shell == "bash" else _write_zsh(parser), end="")


def _write_bash(parser: OneLineParser) -> str:
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
    return _BASH.format(
        commands=" ".join(commands), values="\n".join(values), options="\n".join(options)
    )


def _write_zsh(parser: OneLineParser) -> str:
    commands = [
        f"        '{name}:{_escape(command.description or '')}'"
        for name, command in parser.commands.items()
    ]
    options = []
    for name, command in parser.commands.items():
        lines = [f"            {_describe(action)}" for action in command.listed]
        options.append(f"        {name}) _arguments -s \\\n" + " \\\n".join(lines) + ";;")
    return _ZSH.format(commands="\n".join(commands), options="\n".join(options))


def _option_names(parser: OneLineParser) -> list[str]:
    return [text for action in parser.listed for text in action.option_strings]


def _describe(action: Action) -> str:
    """One specification of zsh's ``_arguments``."""
    takes = f"({' '.join(map(str, action.choices))})" if action.choices else "_files"
    many = "*" if action.nargs in ("+", "*") else ""
    if not action.option_strings:
        return f"'{many or ''}:{action.dest}:{takes}'"
    text = _escape(action.help or action.dest)
    value = "" if action.nargs == 0 else f":{action.dest}:{takes}"
    names = action.option_strings
    return " ".join(f"'{name}[{text}]{value}'" for name in names)


def _escape(text: str) -> str:
    for mark in "\\[]:":
        text = text.replace(mark, "\\" + mark)
    return text.replace("'", "'\\''")
