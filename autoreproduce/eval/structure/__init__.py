"""What a program is made of, found without a model: by running its first training steps, and by reading it."""
