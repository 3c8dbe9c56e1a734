"""Stands in for JupyterLab, as far as `tony notebook` knows it. The real one is in test/notebook."""
