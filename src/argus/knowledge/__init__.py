"""The knowledge base: entries on optimisations, and the search over them."""
