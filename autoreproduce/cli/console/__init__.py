"""What one sees in the terminal while a trial runs, and the lines that close it."""
