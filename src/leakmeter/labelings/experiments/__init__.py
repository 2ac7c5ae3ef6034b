"""One module per experiment of the labelings chain: settings in, tidy measurements out."""
