"""Why an evaluation's numbers are what they are: from the verdict of one reference to what would help."""
