"""Codes of several lines side by side in the words of a key."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled

STRIDE = 2048
"""Records whose words are filled together: they stay in the innermost cache from one line to the next."""


@compiled
def pack(codes, lines, word_of, shift_of, words):
    """Write the codes of some lines into the words of their records, each into its bits, which are zero.

    Parameters
    ----------
    codes
        (lines, records).
    lines
        Those that are taken.
    word_of, shift_of
        In which word, and how far from its lowest bit, the code of each of them begins.
    words
        (words, records).
    """
    for begin in range(0, codes.shape[1], STRIDE):
        end = min(begin + STRIDE, codes.shape[1])
        for a in range(lines.size):
            row, word, shift = codes[lines[a]], words[word_of[a]], np.uint64(shift_of[a])
            for i in range(begin, end):
                word[i] |= np.uint64(np.uint32(row[i])) << shift
