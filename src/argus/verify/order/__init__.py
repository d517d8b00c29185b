"""When things happen: races, stale reads, deadlock, phases, counts, fences."""
