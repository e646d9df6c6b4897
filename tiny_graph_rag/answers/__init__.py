"""Retrieved subgraph → prompt → answer → scores, with what it cost."""
