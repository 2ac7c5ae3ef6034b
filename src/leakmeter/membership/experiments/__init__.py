"""One module per experiment of the SHAPr chain: predictions in, tidy measurements out."""
