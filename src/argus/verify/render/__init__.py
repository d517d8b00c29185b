"""A report of the verifier in the forms that somebody reads.

diagnostics.py   an obligation as a diagnostic: for the terminal
data.py          the report as JSON and back: for tools, and for the cache
sarif.py         SARIF 2.1.0: for CI
picture.py       what is to be seen of a counterexample: tiles, banks, threads, order
svg.py           pictures as SVG
page.py          one HTML page that needs no network
"""
