"""Files of this user, and files that strangers may have a hand in.

    owned.py      folders and files that nobody else can have written
    reading.py    a source file that somebody names
    sources.py    what a command has read, over which it writes nothing
    writing.py    results appear whole or not at all, through no link
    documents.py  JSON that is read back: bounded, strict, told where it is wrong
    typed.py      numbers that somebody typed
    settings.py   variables of the environment; an empty one is one that is not set

Knows nothing of kernels. All that Argus keeps on a disk goes through here.
"""
