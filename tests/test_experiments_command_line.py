"""Errors of a command line: one line, status 2, the nearest option."""

import pytest

from pivotlab.experiments.command_line import Parser


def made():
    parser = Parser(prog="cook")
    commands = parser.add_subparsers(dest="command", required=True)
    soup = commands.add_parser("soup")
    soup.add_argument("pots", nargs="+")
    soup.add_argument("--salt", type=int)
    soup.add_argument("--max-hours", type=float)
    return parser


@pytest.mark.parametrize(
    "line, said",
    [
        ("soup a --slat 4", "unknown argument --slat; did you mean --salt?"),
        ("soup a --max-hour=4 --hot", "unknown argument --hot"),
        (
            "soup a --maxhours=4",
            "unknown argument --maxhours; did you mean --max-hours",
        ),
        ("soup a --salt x", "argument --salt: invalid int value: 'x'"),
        ("soup", "the following arguments are required: pots"),
        ("stew", "invalid choice: 'stew'"),
    ],
)
def test_an_error_is_one_line(line, said, capsys):
    with pytest.raises(SystemExit) as ended:
        made().parse_args(line.split())
    text = capsys.readouterr().err
    assert ended.value.code == 2 and text.count("\n") == 1
    assert text.startswith("error: ") and said in text and "--help" in text


def test_what_is_right_is_parsed():
    given = made().parse_args(["soup", "a", "b", "--salt=3"])
    assert (given.pots, given.salt, given.max_hours) == (["a", "b"], 3, None)
