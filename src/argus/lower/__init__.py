"""Placement: policies become explicit ops, tiles get layouts, ops instructions."""
