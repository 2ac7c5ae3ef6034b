"""One module per experiment of the DPAUC chain: scores or counts in, tidy measurements out."""
