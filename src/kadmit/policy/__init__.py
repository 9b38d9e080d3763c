"""Admission policies: compiled once from their API objects, evaluated against requests. Values in, values out."""
