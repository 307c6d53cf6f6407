"""Top-down greedy search: bisect by two far seeds, then give groups that are too small what they lack.

Paper: Xu, Wang, Pei, Wang, Shi, Fu, KDD 2006; :mod:`rothko.methods.topdown` says what is decided here.
"""
