"""Which values one kernel computes, the plan of them all, its proofs and its files."""
