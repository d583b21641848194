"""Rows that ranks report, and what there is to see of them.

`rows` makes them and keeps them in a file, `steps` puts those of several ranks together, `summary`
is a job at a glance, and `progress` shows that while the job runs.
"""
