"""The crossed experiments: settings -> measurements."""
