"""Matrix products of eight bits with scales: e4m3, e5m2, i8 and u8."""
