"""The performance model: predicted time of a placed program and what bounds it."""
