"""The command line: it reads options, calls the library and prints; it computes nothing."""
