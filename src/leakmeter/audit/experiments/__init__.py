"""Experiments of the audit chain: each turns settings or games into rows of measurements."""
