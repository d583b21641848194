"""Inside a rank: its process, and what a training function may ask and say there.

`process` is its life, `group` how it joins the others. `context` has what a function may ask and
say, `emit` sends other data.
`saving` makes the ranks' common checkpoints, with the states of random generators from `rng`;
`agreement` ends all at one step. For both `peers` knows where the other ranks are.
"""
