"""Decides what is to be done about the Node and our run: tables over values, no effects."""
