"""Measurements in, claims, tables and figures out. Chains may use this room; it knows none of them."""
