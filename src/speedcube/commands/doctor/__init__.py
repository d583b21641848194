"""What this machine, its packages and its kernel cache are like, what is wrong, and the remedy.

``facts`` gathers (with ``host``, ``gpus``, ``packages``, ``imports``), ``findings`` and ``rungs``
judge what was gathered, ``report`` puts both into JSON or a table, ``command`` prints it.
"""
