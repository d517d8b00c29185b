"""Layers of experts (mixture of experts): routing, products of experts, their sum."""
