"""Which messages a subscription's filter lets through.

The filter language of Pub/Sub (https://cloud.google.com/pubsub/docs/subscription-message-filter), parsed into a
predicate over attributes. Subscriptions and messages do not belong here.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

FILTER_BYTES_MAX = 256
"""Longest filter that Pub/Sub takes."""

NESTING_MAX = 64
"""Deepest nesting of parentheses and negations; keeps the recursive parser well inside Python's stack."""

Predicate = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")
      | (?P<symbol>!=|[=:.,()-])
      | (?P<word>[A-Za-z0-9_][A-Za-z0-9_-]*)
      | (?P<space>\s+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_NAMED_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


class FilterSyntaxError(ValueError):
    """The filter is not one that Pub/Sub would take."""


class _Token(NamedTuple):
    kind: str
    text: str


_END = _Token("end", "")


def parse_filter(text: str) -> Predicate:
    """Turn a filter into a predicate over a message's attributes.

    An empty filter lets everything through. At most `FILTER_BYTES_MAX`; raises `FilterSyntaxError`. As in Pub/Sub,
    AND and OR mix only with parentheses, and `!=` also holds where the key is absent.
    """
    if len(text.encode()) > FILTER_BYTES_MAX:
        raise FilterSyntaxError(f"filter is longer than {FILTER_BYTES_MAX} bytes")
    if not text:
        return lambda _attributes: True
    parser = _Parser(_tokenize(text))
    predicate = parser.parse_expression()
    parser.expect("end", "")
    return predicate


def _tokenize(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FilterSyntaxError(f"unexpected character at {position}")
        if match.lastgroup != "space":
            tokens.append(_Token(str(match.lastgroup), match.group()))
        position = match.end()
    return tokens


def _unescape(literal: str) -> str:
    def replace(match: re.Match[str]) -> str:
        wide, byte, octal, named = match.groups()
        if named is not None:
            if named not in _NAMED_ESCAPES:
                raise FilterSyntaxError("unknown escape sequence in a string")
            return _NAMED_ESCAPES[named]
        return chr(int(octal, 8) if octal is not None else int(wide or byte, 16))

    return _ESCAPE.sub(replace, literal[1:-1])


class _Parser:
    """Recursive descent over one filter's tokens."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def parse_expression(self) -> Predicate:
        terms = [self._parse_term()]
        operator = self._peek()
        if operator not in (_Token("word", "AND"), _Token("word", "OR")):
            return terms[0]
        while self._peek() == operator:
            self._position += 1
            terms.append(self._parse_term())
        combine = all if operator.text == "AND" else any
        return lambda attributes: combine(term(attributes) for term in terms)

    def expect(self, kind: str, text: str | None = None) -> str:
        token = self._peek()
        if token.kind != kind or text not in (None, token.text):
            raise FilterSyntaxError(f"expected {text or kind}, found {token.text or 'the end'}")
        self._position += 1
        return token.text

    def _peek(self) -> _Token:
        return self._tokens[self._position] if self._position < len(self._tokens) else _END

    def _accept(self, *wanted: str) -> str | None:
        token = self._peek()
        if token.kind == "string" or token.text not in wanted:
            return None
        self._position += 1
        return token.text

    def _parse_term(self) -> Predicate:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise FilterSyntaxError(f"nested deeper than {NESTING_MAX}")
        try:
            return self._parse_nested()
        finally:
            self._depth -= 1

    def _parse_nested(self) -> Predicate:
        if self._accept("NOT", "-"):
            negated = self._parse_term()
            return lambda attributes: not negated(attributes)
        if self._accept("("):
            inner = self.parse_expression()
            self.expect("symbol", ")")
            return inner
        if self._accept("hasPrefix"):
            return self._parse_prefix()
        self.expect("word", "attributes")
        return self._parse_comparison()

    def _parse_comparison(self) -> Predicate:
        if self._accept(":"):
            present = self._parse_key()
            return lambda attributes: present in attributes
        self.expect("symbol", ".")
        key = self._parse_key()
        operator = self._accept("=", "!=")
        if operator is None:
            raise FilterSyntaxError(f"expected = or != after attributes.{key}")
        value = self._parse_string()
        if operator == "=":
            return lambda attributes: attributes.get(key) == value
        return lambda attributes: attributes.get(key) != value

    def _parse_prefix(self) -> Predicate:
        self.expect("symbol", "(")
        self.expect("word", "attributes")
        self.expect("symbol", ".")
        key = self._parse_key()
        self.expect("symbol", ",")
        prefix = self._parse_string()
        self.expect("symbol", ")")
        return lambda attributes: key in attributes and attributes[key].startswith(prefix)

    def _parse_key(self) -> str:
        return self._parse_string() if self._peek().kind == "string" else self.expect("word")

    def _parse_string(self) -> str:
        return _unescape(self.expect("string"))
