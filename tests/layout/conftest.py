"""Hypothesis without deadlines: how long one example takes says nothing here."""

from hypothesis import settings

settings.register_profile("layout", deadline=None, max_examples=60)
settings.load_profile("layout")
