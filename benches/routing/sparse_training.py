"""Trains the weights of word associations: scores of all tools of a catalog, their softmax, and a step of Adagrad.

A request's score for a tool is what its own words are worth (`base`) plus, for each word of tools that its sources imply
together, the sum of their weights, at most one, times the worth of that word in the tool. Needs numba.
"""

import numba
import numpy as np


class Catalog:
    """Some tools and requests as arrays. `worth` of a word in a tool is its BM25F weight times how rare it is here."""

    def __init__(self, targets, postings, sources, own, base, right, factors):
        order = np.argsort([target for target, _, _ in postings], kind="stable")
        columns = [np.array(column)[order] for column in zip(*postings)]
        self.tools, self.worth = columns[1].astype(np.int32), columns[2].astype(np.float32)
        counts = np.bincount(columns[0], minlength=targets)
        self.first = np.append(0, np.cumsum(counts)).astype(np.int32)
        self.sources, self.source_ends = ragged(sources)
        self.own, self.own_ends = ragged(own)
        self.base, self.factors = np.array(base, np.float32), np.array(factors, np.float32)
        self.right = np.array(right, np.int32)

    def arrays(self):
        lists = (self.sources, self.source_ends, self.own, self.own_ends)
        return (self.first, self.tools, self.worth, *lists, self.base, self.factors, self.right)


def ragged(lists):
    ends = np.append(0, np.cumsum([len(one) for one in lists])).astype(np.int32)
    return np.array([value for one in lists for value in one], np.int32), ends


@numba.njit(fastmath=True, cache=True)
def imply(request, starts, targets, weights, catalog, kept, sums, implied, tick):
    """Adds up what the sources of a request imply in `sums`, and returns the words of tools in `implied`."""
    first, _, _, sources, source_ends, own, own_ends, _, _, _ = catalog
    count = 0
    for at in range(own_ends[request], own_ends[request + 1]):
        implied[own[at], 1] = -tick
    for at in range(source_ends[request], source_ends[request + 1]):
        if not kept[at - source_ends[request]]:
            continue
        for place in range(starts[sources[at]], starts[sources[at] + 1]):
            target = targets[place]
            if implied[target, 1] == -tick or first[target] == first[target + 1]:
                continue
            if implied[target, 1] != tick:
                implied[target, 1] = tick
                implied[count, 0] = target
                sums[target] = 0
                count += 1
            sums[target] += weights[place]
    return count


@numba.njit(fastmath=True, cache=True)
def score(request, catalog, count, sums, implied, scores):
    first, tools, worth, _, _, _, _, base, factors, _ = catalog
    scores[:] = base[request]
    for at in range(count):
        target = implied[at, 0]
        weight = min(sums[target], 1) * factors[request]
        if weight > 0:
            for place in range(first[target], first[target + 1]):
                scores[tools[place]] += weight * worth[place]


@numba.njit(fastmath=True, cache=True)
def found(starts, targets, weights, catalog, words):
    """For each request whether the right tool is among the first five."""
    base, right = catalog[7], catalog[9]
    sums, implied = np.zeros(words, np.float32), np.zeros((words, 2), np.int64)
    scores, kept, hits = np.zeros(base.shape[1], np.float32), np.ones(4096, np.bool_), np.zeros(len(right), np.bool_)
    for request in range(len(right)):
        count = imply(request, starts, targets, weights, catalog, kept, sums, implied, request + 1)
        score(request, catalog, count, sums, implied, scores)
        own = scores[right[request]]
        hits[request] = own > 0 and (scores > own).sum() < 5
    return hits


@numba.njit(fastmath=True, cache=True)
def train(order, starts, targets, weights, squares, catalog, words, drop, sharpness, rate, sparsity):
    """One pass over some requests of a catalog; returns the sum of the losses."""
    first, tools, worth, sources, source_ends, own, own_ends, base, factors, right = catalog
    sums, slopes, implied = np.zeros(words, np.float32), np.zeros(words, np.float32), np.zeros((words, 2), np.int64)
    scores, kept, loss = np.zeros(base.shape[1], np.float32), np.ones(4096, np.bool_), 0.0
    for tick in range(len(order)):
        request = order[tick]
        for at in range(source_ends[request + 1] - source_ends[request]):
            kept[at] = np.random.random() >= drop
        count = imply(request, starts, targets, weights, catalog, kept, sums, implied, tick + 1)
        score(request, catalog, count, sums, implied, scores)
        scores -= scores.max()
        scores[:] = np.exp(sharpness * scores)
        scores /= scores.sum()
        loss -= np.log(scores[right[request]] + 1e-9)
        scores[right[request]] -= 1
        for at in range(count):
            target, slope = implied[at, 0], 0.0
            if sums[target] <= 1:
                for place in range(first[target], first[target + 1]):
                    slope += scores[tools[place]] * worth[place]
            slopes[target] = sharpness * slope * factors[request]
        for at in range(source_ends[request], source_ends[request + 1]):
            if not kept[at - source_ends[request]]:
                continue
            for place in range(starts[sources[at]], starts[sources[at] + 1]):
                target = targets[place]
                if implied[target, 1] != tick + 1 or slopes[target] == 0:
                    continue
                if weights[place] <= 0 and slopes[target] > 0:
                    continue
                squares[place] += slopes[target] ** 2
                weights[place] -= rate / np.sqrt(squares[place]) * (slopes[target] + sparsity)
                weights[place] = max(weights[place], 0)
    return loss
