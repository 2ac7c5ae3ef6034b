"""Generators of stand-in data, one module per data set; import the module that is needed."""
