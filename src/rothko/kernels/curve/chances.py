"""What records draw: numbers that look random, of the words of each."""

from __future__ import annotations

from rothko.kernels import compiled
from rothko.kernels.numbers import mix
from rothko.kernels.order import MIX


@compiled
def fold_words(words, state):
    """Take (words, records) into a number of each record, the first word first."""
    for word in words:
        for i in range(state.size):
            state[i] = mix((state[i] ^ word[i]) + MIX)
