"""The agent's short-lived child: judges, hashes and delivers a report; alone may use Google's libraries."""
