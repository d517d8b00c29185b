"""The optimiser: planner, policy, design spaces, lowering agents and their loop."""
