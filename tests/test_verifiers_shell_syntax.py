"""Commands up to spelling, and the lines that break naive parsers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.verifiers import shell_syntax

SAME = [
    ("ls 'a b'", 'ls "a b"'),
    (r"ls a\ b", 'ls "a b"'),
    ("echo ${x}", "echo $x"),
    ("echo $(date)", "echo `date`"),
    ("a;b", "a\nb"),
    ("ls -a   # all", "ls -a"),
    ("cat <<EOF\nx y\nEOF", "cat <<EOF\nx y\nEOF\n"),
    ("x=1 y=2 a", "y=2  x=1 a"),
    ("/usr/bin/ls -a", "ls -a"),
    ("find . -exec rm {} \\;", "find . -exec rm '{}' ';'"),
    ("awk '{print $1}' f", 'awk "{print \\$1}" f'),
    ("find /t | xargs  wc --lines", "find /t|xargs wc -l"),
    ("ls | sort -rn > out", "ls|sort -n -r >out"),
    ("if true; then ls -la; fi", "if true\nthen ls -a -l\nfi"),
]
OTHER = [
    ("ls *.c", "ls '*.c'"),
    ('echo "$x"', "echo $x"),
    ("echo 'a  b'", "echo 'a b'"),
    ("a; b", "a && b"),
    ("a && b", "a || b"),
    ("a | b", "b | a"),
    ("a > f", "a >> f"),
    ("a > f 2>&1", "a 2>&1 > f"),
    ("a &", "a"),
    ("(cd x; ls)", "cd x; ls"),
    ("cat <<EOF\nx\nEOF", "cat <<EOF\ny\nEOF"),
    ("cat <<EOF\nhi $x\nEOF", "cat <<EOF\nho $x\nEOF"),
    ("cat <<EOF\n$x\nEOF", "cat <<'EOF'\n$x\nEOF"),
    ("echo '$x'", "echo $x"),
    ("for i in a b; do echo $i; done", "for i in a c; do echo $i; done"),
    ("sort -u f", "sort f | uniq"),
    ("[ -f a ]", "[ -d a ]"),
    ("[[ $a == b* ]]", "[[ $a == c* ]]"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_command(first, second):
    assert shell_syntax.equivalent(first, second)


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_another_command(first, second):
    assert not shell_syntax.equivalent(first, second)


@pytest.mark.case(id="V29")
def test_bundled_options():
    equal = shell_syntax.equivalent
    assert equal("set -e -u -o pipefail", "set -eu -o pipefail")
    assert equal("ls -la", "ls -l -a")
    assert not equal("tar -xf a", "tar -cf a")


@pytest.mark.case(id="V30")
def test_depth_zero_is_not_depth_one():
    assert not shell_syntax.equivalent("du -sh .", "du -h --max-depth=1")


@pytest.mark.case(id="V31")
def test_a_shell_around_the_command():
    equal = shell_syntax.equivalent
    assert equal("pytest -q", "bash -lc 'pytest -q'")
    assert equal("pytest -q", 'bash -l -c "pytest -q"')
    assert equal("ls -l -a", "sh -c 'ls -la'")
    assert not equal("pytest -q", "bash -lc pytest -q")
    assert not equal("pytest -q", "bash -xc 'pytest -q'")
    assert not equal("echo $x", 'bash -c "echo $x"')


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'bits=2; print(1 << bits)'",
        "cat <<'X'\n< line\n<< another\nX",
        "cat <<EOF\n<html>\nEOF",
        "cat <<EOF",
        "echo $((1 << 2))",
        "echo 'open",
        'echo "$(',
        "a | | b",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "case $x in a) ls;; *) pwd;; esac",
        "f() { ls; }; f",
        "diff <(ls a) <(ls b)",
        "echo ${x:-$(ls)} ${#x} ${x//a/b}",
        "\x00",
        "",
        "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((",
        "$($($($($($($($($($($($($($($($($($($($(ls))))))))))))))))))))",
        "ls " * 5000,
    ],
)
@pytest.mark.case(id="V32")
def test_hard_lines_never_raise_and_equal_themselves(command):
    assert shell_syntax.equivalent(command, command)
    assert not shell_syntax.equivalent(command, command + " surely-not-there")
    shell_syntax.tokens(command)


@pytest.mark.case(id="V32")
def test_a_shift_in_quotes_is_no_heredoc():
    assert shell_syntax.is_parsed("python3 -c 'bits=2; print(1 << bits)'")
    assert not shell_syntax.is_parsed("echo 'open")


@settings(max_examples=150)
@given(st.text(alphabet="ab -<>|&;$(){}[]'\"`\\\n#*=!~"))
def test_total_and_reflexive(command):
    assert shell_syntax.equivalent(command, command)
    shell_syntax.tokens(command)


@settings(max_examples=50)
@given(st.permutations(["-a", "-l", "-h"]), st.permutations(["x", "y"]))
def test_options_commute_and_operands_do_not(options, operands):
    command = " ".join(["ls", *options, *operands])
    assert shell_syntax.equivalent(command, "ls -lah x y") is (operands == ["x", "y"])
