"""What a request does to an object: decode, default, own, mutate, validate. Pure: the stored object comes in, the new one goes out.

Each verb is a generator that yields webhook calls, like the admission chain inside it. Reading and writing the store, and
trying again after a conflict, is the caller's part.
"""
