"""Values over loops: what one kernel computes, and how that is written."""
