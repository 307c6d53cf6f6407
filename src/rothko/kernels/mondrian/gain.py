"""The criteria of models: InfoGain for class labels, Regression for numbers.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.1, equations 3 to 6. Every value at which a line can be cut
and every specialisation of a tree is a candidate; the allowable one with the lowest impurity over its parts wins.

What a node's records say about a target is in :mod:`rothko.kernels.mondrian.target_cells`.

A line is gone through in one of two ways. Where its codes are few beside the records of the node they are counted,
value by value (a frequency group); otherwise, and where all candidates are asked about requirements, the records are
sorted by radix.

Equal scores: the more even cut, then the attribute that comes first, then the lower code.

To the letter a node is cut until there is no allowable cut, whatever it gains. Then cuts of lines that no model looks
at compete as well: they leave the impurity as it is.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import linked
from rothko.kernels.boxes import TREE, children_between
from rothko.kernels.mondrian.allowed import children_hold, keep_good, sides_hold
from rothko.kernels.mondrian.arrange import arrange_many, sorted_along
from rothko.kernels.mondrian.target_cells import (
    AT,
    AT_GROUP,
    FEW,
    GROUPS,
    KIND,
    LABEL,
    LABELS,
    NUMBER,
    clear_left,
    score_node,
    score_numbers,
    square,
    step,
)

SURE = 2.0**-44
"""What a gain must be of the score that it is taken from, beyond which it may be rounding."""


@linked
def _count_values(table, a, start, end, low, size, t, targets, first, work):
    """Score every candidate of a line from its frequency group: by value, counts and sums of one target."""
    cells, values, counts, by_group, sums = work.cells, work.values, work.counts, work.by_group, work.sums
    frequency, sums_by_value, score, before = work.frequency, work.sums_by_value, work.score, work.before
    logs = targets.logs
    n = np.int64(end - start)
    is_label = targets.spec[t, KIND] == LABEL
    labels = targets.spec[t, LABELS] if is_label else 1
    groups, at, at_group = targets.spec[t, GROUPS], targets.spec[t, AT], targets.spec[t, AT_GROUP]
    width = labels * groups + 1
    for x in range(size * width):
        frequency[x] = 0
    if is_label:
        for i in range(np.uint64(n)):
            frequency[np.uint64((table[a, start + i] - low) * width + cells[t, i])] += 1
    else:
        for x in range(size * groups):
            sums_by_value[x] = 0
        for i in range(np.uint64(n)):
            v, c = np.int64(table[a, start + i] - low), np.int64(cells[t, i])
            frequency[np.uint64(v * width + c)] += 1
            if c < groups:
                sums_by_value[np.uint64(v * groups + c)] += values[t, i]
    clear_left(t, n, targets, work)
    factor, whole = targets.factors[t], work.wholes[t]
    so_far = 0
    for v in range(size):
        x = v * width
        here = 0
        for c in range(width):
            here += frequency[x + c]
        if first:
            before[v] = so_far if here > 0 else 0
        if here == 0:
            continue
        if is_label:
            found = factor * np.float64(whole)
            for c in range(width - 1):
                h = np.int64(frequency[x + c])
                if h > 0:
                    g = at_group + (c // labels if groups > 1 else 0)
                    left, right = counts[1, at + c], counts[2, at + c]
                    whole += logs[left] - logs[left + h] + logs[right] - logs[right - h]
                    counts[1, at + c], counts[2, at + c] = left + h, right - h
                    left, right = by_group[1, g], by_group[2, g]
                    whole += logs[left + h] - logs[left] + logs[right - h] - logs[right]
                    by_group[1, g], by_group[2, g] = left + h, right - h
        else:
            found = factor * score_numbers(t, targets, by_group, sums)
            for g in range(groups):
                h, s = np.int64(frequency[x + g]), sums_by_value[v * groups + g]
                by_group[1, at_group + g] += h
                by_group[2, at_group + g] -= h
                sums[1, at_group + g] += s
                sums[2, at_group + g] -= s
        score[v] = found if first else score[v] + found
        so_far += here


@linked
def _best_of_two_labels(table, a, start, end, low, size, least, cells, ones, factor, logs, frequency):
    """The best candidate of a line for one target with two labels, none missing: the common case, in registers.

    A counter holds the records of a value, and those of them with the second label from its 32nd bit on.
    """
    n = np.int64(end - start)
    for v in range(np.uint64(size)):
        frequency[v] = 0
    for i in range(np.uint64(n)):
        frequency[np.uint64(table[a, start + i] - low)] += (np.int64(cells[0, i]) << 32) + 1
    best, best_left, best_value = np.int64(9223372036854775807), np.int64(0), np.int64(0)
    left, l1 = np.int64(0), np.int64(0)
    for v in range(np.uint64(size)):
        here = frequency[v]
        if here == 0:
            continue
        if left >= least:
            right, r1 = n - left, ones - l1
            if right < least:
                break
            score = logs[np.uint64(left)] - logs[np.uint64(l1)] - logs[np.uint64(left - l1)]
            score += logs[np.uint64(right)] - logs[np.uint64(r1)] - logs[np.uint64(right - r1)]
            if score < best or (score == best and abs(2 * left - n) < abs(2 * best_left - n)):
                best, best_left, best_value = score, left, np.int64(v)
        left += here & 0xFFFFFFFF
        l1 += here >> 32
    return factor * np.float64(best), best_left, low + best_value


@linked
def _best_of_number(table, a, start, end, low, size, least, values, whole, factor, frequency, sums):
    """The same for one number, none missing."""
    n = np.int64(end - start)
    for v in range(np.uint64(size)):
        frequency[v] = 0
        sums[v] = 0
    for i in range(np.uint64(n)):
        v = np.uint64(table[a, start + i] - low)
        frequency[v] += 1
        sums[v] += values[0, i]
    best, best_left, best_value = np.inf, np.int64(0), np.int64(0)
    left, total = np.int64(0), np.int64(0)
    for v in range(np.uint64(size)):
        here = frequency[v]
        if here == 0:
            continue
        if left >= least:
            right = n - left
            if right < least:
                break
            score = -factor * (square(total, left) + square(whole - total, right))
            if score < best or (score == best and abs(2 * left - n) < abs(2 * best_left - n)):
                best, best_left, best_value = score, left, np.int64(v)
        left += here
        total += sums[v]
    return best, best_left, low + best_value


@linked
def _walk_sorted(order, start, t, targets, good, first, work):
    """Score the good positions of a sorted line: the records pass one by one from the right side to the left."""
    cells, values, counts, by_group, sums = work.cells, work.values, work.counts, work.by_group, work.sums
    score, logs = work.score, targets.logs
    n = order.size
    is_label = targets.spec[t, KIND] == LABEL
    labels = targets.spec[t, LABELS] if is_label else 1
    groups, at, at_group = targets.spec[t, GROUPS], targets.spec[t, AT], targets.spec[t, AT_GROUP]
    clear_left(t, n, targets, work)
    factor, whole = targets.factors[t], work.wholes[t]
    for i in range(n):
        if good[i] == 1:
            found = factor * (np.float64(whole) if is_label else score_numbers(t, targets, by_group, sums))
            score[i] = found if first else score[i] + found
        p = np.uint64(order[i]) - start
        c = np.int64(cells[t, p])
        if c == labels * groups:
            continue
        g = at_group + (c // labels if groups > 1 else 0)
        if is_label:
            left, right = counts[1, at + c], counts[2, at + c]
            whole += step(logs, right - 1) - step(logs, left)
            counts[1, at + c], counts[2, at + c] = left + 1, right - 1
            left, right = by_group[1, g], by_group[2, g]
            whole += step(logs, left) - step(logs, right - 1)
        else:
            sums[1, g] += values[t, p]
            sums[2, g] -= values[t, p]
        by_group[1, g] += 1
        by_group[2, g] -= 1


@linked
def _best_of_line(table, a, start, end, low, high, least, checked, letter, rules, histograms, targets, work):
    """The best candidate of an ordered or nominal line: (score, records on the left, cut); 0 records if there is none.

    Of a line that a target's model does not look at, no cut changes what the model sees: such cuts are candidates to
    the letter alone.
    """
    score, before = work.score, work.before
    n = np.int64(end - start)
    width, unseen = np.int64(0), 0.0
    for t in range(targets.spec.shape[0]):
        if targets.features[t, a] == 0:
            unseen += work.parents[t]
        else:
            width = max(
                width, (targets.spec[t, LABELS] if targets.spec[t, KIND] == LABEL else 1) * targets.spec[t, GROUPS] + 1
            )
    best, best_left, best_cut = np.inf, np.int64(0), np.int64(0)
    if width == 0 and not letter:
        return best, best_left, best_cut
    size = high - low + 1
    first = True
    alone = not checked and targets.spec.shape[0] == 1 and targets.spec[0, GROUPS] == 1 and work.by_group[0, 0] == n
    if alone and width > 0 and size <= FEW * n:
        if targets.spec[0, KIND] == LABEL and targets.spec[0, LABELS] == 2:
            return _best_of_two_labels(
                table, a, start, end, low, size, least, work.cells, work.counts[0, 1], targets.factors[0],
                targets.logs, work.frequency,
            )  # fmt: skip
        if targets.spec[0, KIND] == NUMBER:
            return _best_of_number(
                table, a, start, end, low, size, least, work.values, work.sums[0, 0], targets.factors[0],
                work.frequency, work.sums_by_value,
            )  # fmt: skip
    if not checked and 0 < size * width <= FEW * n:
        for t in range(targets.spec.shape[0]):
            if targets.features[t, a] == 1:
                _count_values(table, a, start, end, low, size, t, targets, first, work)
                first = False
        for v in range(1, size):
            left = np.int64(before[v])
            if left < least or n - left < least:
                continue
            if score[v] < best or (score[v] == best and abs(2 * left - n) < abs(2 * best_left - n)):
                best, best_left, best_cut = score[v], left, low + v
        return best + unseen, best_left, best_cut
    order = sorted_along(table, a, start, end, low, high)
    good = np.zeros(n + 1, dtype=np.uint8)
    if keep_good(table, a, order, least, False, checked, good, rules, histograms) == 0:
        return best, best_left, best_cut
    for t in range(targets.spec.shape[0]):
        if targets.features[t, a] == 1:
            _walk_sorted(order, start, t, targets, good, first, work)
            first = False
    if first:
        score[:n] = 0.0
    for p in range(least, n - least + 1):
        if good[p] == 1 and (score[p] < best or (score[p] == best and abs(2 * p - n) < abs(2 * best_left - n))):
            best, best_left, best_cut = score[p], p, np.int64(table[a, order[p]])
    return best + unseen, best_left, best_cut


@linked
def _score_children(start, count, a, room, targets, work):
    """The score of a specialisation: that of its children, one after the other."""
    cells, values, counts, by_group, sums = work.cells, work.values, work.counts, work.by_group, work.sums
    child, sizes, logs = room.child, room.sizes, targets.logs
    total = 0
    for c in range(count):
        total += sizes[c]
    order = np.empty(total, dtype=np.uint32)
    arrange_many(child, start, count, sizes, order)
    score, unseen = 0.0, 0.0
    for t in range(targets.spec.shape[0]):
        if targets.features[t, a] == 0:
            unseen += work.parents[t]
            continue
        is_label = targets.spec[t, KIND] == LABEL
        labels = targets.spec[t, LABELS] if is_label else 1
        groups, at, at_group = targets.spec[t, GROUPS], targets.spec[t, AT], targets.spec[t, AT_GROUP]
        whole, squares = np.int64(0), 0.0
        begin = 0
        for c in range(count):
            stop = begin + sizes[c]
            for i in range(begin, stop):
                counts[1, at + cells[t, np.uint64(order[i]) - start]] = 0
            for g in range(at_group, at_group + groups):
                by_group[1, g] = 0
                sums[1, g] = 0
            for i in range(begin, stop):
                p = np.uint64(order[i]) - start
                cell = np.int64(cells[t, p])
                if cell == labels * groups:
                    continue
                g = at_group + (cell // labels if groups > 1 else 0)
                if is_label:
                    whole += step(logs, by_group[1, g]) - step(logs, counts[1, at + cell])
                    counts[1, at + cell] += 1
                else:
                    sums[1, g] += values[t, p]
                by_group[1, g] += 1
            if not is_label:
                for g in range(at_group, at_group + groups):
                    squares += square(sums[1, g], by_group[1, g])
            begin = stop
        score += targets.factors[t] * (np.float64(whole) if is_label else -squares)
    return score + unseen


@linked
def choose(table, start, end, low, high, node, letter, lines, least, rules, room, targets, work):
    """The allowable cut with the lowest score: (line or −1, records on the left, cut, gain for each record).

    Where there is nothing to gain, the gain is 0 and the cut may be any.

    The best cut by size alone is asked about the other requirements first, which it meets as a rule; only where it does
    not are all candidates asked.
    """
    none = np.int64(0)
    if targets is None:
        return np.int64(-1), none, none, 0.0
    n = np.int64(end - start)
    whole = score_node(table, start, end, targets, work)
    if whole == 0.0 and targets.numbers.size == 0 and not letter:
        return none, none, none, 0.0  # one label everywhere: any cut is as good, none is looked for
    for checked in range(2):
        best, best_line, best_left, best_cut = np.inf, np.int64(-1), none, none
        evenness = n
        for a in range(lines.spec.shape[0]):
            bottom, top = np.int64(low[node, a]), np.int64(high[node, a])
            if bottom == top:
                continue
            if lines.spec[a, 0] == TREE:
                first, count = children_between(lines, a, bottom, top)
                if not children_hold(table, a, start, end, first, count, lines.tree, least, rules, room, checked == 1):
                    continue
                left, cut = none, none
                largest = none
                for c in range(count):
                    largest = max(largest, room.sizes[c])
                uneven = 2 * largest - n
                score = _score_children(start, count, a, room, targets, work)
            else:
                score, left, cut = _best_of_line(
                    table, a, start, end, bottom, top, least, checked == 1, letter, rules, room.histograms,
                    targets, work,
                )  # fmt: skip
                if left == 0:
                    continue
                uneven = abs(2 * left - n)
            if score < best or (score == best and uneven < evenness):
                best, best_line, best_left, best_cut, evenness = score, np.int64(a), left, cut, uneven
        if best_line < 0 or rules is None or checked == 1:
            break
        if lines.spec[best_line, 0] == TREE:
            bottom, top = np.int64(low[node, best_line]), np.int64(high[node, best_line])
            first, count = children_between(lines, best_line, bottom, top)
            if children_hold(table, best_line, start, end, first, count, lines.tree, least, rules, room, True):
                break
        elif sides_hold(table, best_line, start, end, best_left, best_cut, none, least, rules, room.histograms):
            break
    gain = whole - best
    if best_line >= 0 and gain <= SURE * abs(whole):
        gain = 0.0
    return best_line, best_left, best_cut, gain / n
