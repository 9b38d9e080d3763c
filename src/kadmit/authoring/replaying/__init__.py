"""Requests that were made, and objects that are there, held against new policies."""
