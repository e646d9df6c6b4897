"""Anyone's run against anyone's gold set, from files of any size or from Python."""
