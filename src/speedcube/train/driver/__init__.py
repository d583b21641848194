"""The driver's side of a job: what its user calls and holds, and the thread that sees it through.

`run` checks what was asked for and makes a `request`. `directory` has the run's name, place and
run.json, and `run_lock` keeps other jobs out. `placement` says which rank runs where, on our own
`local_cluster` where nothing else is named. `supervisor` claims workers (`claims`, asked through
`scheduler`) and makes one `attempt` after another; `timeouts` says which rank takes too long,
`failures` what is the cause. `journal` writes down what ranks say, and `inbox` what they emit.
`job` is what the user holds.
"""
