"""When two plain values are the same JSON.

Python holds 1 == 1.0 == True; here they differ. Kubernetes compares the text of numbers, which a decoded document no longer
has, so the rule is the nearest one that values allow: an int is never a float, floats are the same if their values are.
"""


def same(left: object, right: object) -> bool:
    """Deep equality that tells bool, int and float apart. What documents share is not walked."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        assert isinstance(right, dict)
        return len(left) == len(right) and all(key in right and same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        assert isinstance(right, list)
        return len(left) == len(right) and all(map(same, left, right))
    return left == right
