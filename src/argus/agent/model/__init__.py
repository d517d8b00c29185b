"""The model agent: a language model carries out proposals, of any provider.

    settings.py   which model, where, and what it may cost; read from options
    provider.py   the connection (pydantic-ai), and prices
    meter.py      tokens and money that are left, and whether another request fits
    asking.py     one request: retries, time limits, what it took
    failures.py   what can go wrong, told apart; conversation.py: what was said
    answers.py    the form of answers; reference.py: the language, for prompts
    prompts.py    what is said to the model; feedback.py: verdicts for it to read
    agent.py      the lowering agent; advice.py: what trials teach, in its words

What a model answers is data: a kernel's text is parsed by the judge, in a process of
its own, and never executed. No package for models is imported before one is asked.
"""
