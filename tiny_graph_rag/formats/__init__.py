"""Every file that is read, in whichever form: graphs, gold sets, runs, tables, vocabularies."""
