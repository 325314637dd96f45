"""The exit codes: one meaning each, within what a shell can tell."""

from gpureport.contract import exit_codes


def test_every_exit_code_has_one_meaning() -> None:
    codes = {name: code for name, code in vars(exit_codes).items() if name.startswith("EXIT_")}

    want = {
        "EXIT_OK": 0,
        "EXIT_NOT_FOUND": 1,
        "EXIT_USAGE": 2,
        "EXIT_PARTIAL": 3,
        "EXIT_NONE": 4,
        "EXIT_UNAVAILABLE": 5,
        "EXIT_REFUSED": 6,
        "EXIT_INTERNAL": 70,
        "EXIT_INTERRUPTED": 130,
    }
    assert codes == want
