"""Scripts that are copied to the box and run there by any Python 3.9+; standard library only, one file each."""
