"""From modules and graphs of torch to the tensor program."""
