"""Every way to change an object: JSON Patch, merge patch, strategic merge, structured merge. Plain data in, plain data out."""
