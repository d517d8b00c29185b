"""`python -m argus`: the command line, where its script is not on the path."""

from argus.cli import main

if __name__ == "__main__":
    main()
