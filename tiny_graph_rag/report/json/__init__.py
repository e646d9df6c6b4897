"""Results as files: JSON under fixed names, described in docs/results.md."""
