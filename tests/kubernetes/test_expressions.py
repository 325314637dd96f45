"""Expressions lose one operand at a time, wherever it stands."""

import pytest

from tests.kubernetes.expressions import list_weakened


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("a", []),
        ("a && b", ["true && b", "a && true"]),
        ("a || b && c", ["false || b && c", "a || false", "a || true && c", "a || b && true"]),
        ("!(a || f(b && c, d))", ["!( false || f(b && c, d))", "!(a || false )", "!(a || f( true && c, d))"]),
        ("a == 'x && y' && b", ["true && b", "a == 'x && y' && true"]),
        ("""a == "it's || b" || c""", ["false || c", """a == "it's || b" || false"""]),
    ],
)
def test_expression_loses_each_operand(expression: str, want: list[str]) -> None:
    found = [" ".join(text.split()) for _taken, _operator, text in list_weakened(expression)]
    assert set(want) <= set(found)
    assert all(text.count("true") + text.count("false") == 1 for text in found)
