#!/usr/bin/env python3
"""Writes crates/findings/tests/ruptures.json: change points as the library ruptures finds them.

The search in crates/findings/src/change_point.rs minimises the same cost (`l2`), so that its change points have to be
the same. To make the file anew:

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install ruptures==1.1.10
    /tmp/venv/bin/python scripts/change-point-vectors.py > crates/findings/tests/ruptures.json
"""

import json

import numpy
import ruptures

random = numpy.random.default_rng(20261120)
vectors = []
for number in range(60):
    length = int(random.integers(30, 160))
    changes = sorted(int(at) for at in random.integers(5, length - 5, size=int(random.integers(0, 4))))
    noise = [0.0, 1.0, 5.0, 15.0][number % 4]
    signal = numpy.zeros(length)
    for begin, end in zip([0] + changes, changes + [length]):
        signal[begin:end] = random.integers(20, 120)
    if number % 5 == 4:
        signal += numpy.linspace(0, 40, length)
    # Rounded, so that both programs read the same numbers; never flat, so that there are no ties.
    signal = numpy.round(signal + (noise + 0.01) * random.standard_normal(length), 6)
    shortest = int(random.integers(2, 6))
    penalty = float(numpy.round(3 * (noise + 0.5) ** 2 * numpy.log(length), 6))
    settings = dict(model="l2", min_size=shortest, jump=1)
    pelt = ruptures.Pelt(**settings).fit(signal).predict(pen=penalty)[:-1]
    halving = ruptures.Binseg(**settings).fit(signal).predict(pen=penalty)[:-1]
    vectors.append(
        dict(series=signal.tolist(), penalty=penalty, shortest=shortest, pelt=list(map(int, pelt)), binary_segmentation=list(map(int, halving)))
    )
print(json.dumps(vectors))
