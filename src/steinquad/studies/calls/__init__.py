"""One call of the integrand, as every worker makes it: what goes in, what may come out.

These files import the standard library and each other alone, by relative names: a worker process
loads this folder by itself and so starts in milliseconds, without JAX.
"""
