"""Commands of the command line, a file each: its options, and what it does."""
