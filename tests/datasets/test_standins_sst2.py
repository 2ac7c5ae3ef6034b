"""The SST-2 stand-in: lengths, words, labels that depend on words, determinism."""

import numpy as np
import pytest

from leakmeter.datasets.standins.sst2 import _words, generate
from leakmeter.runtime import UserError


def test_words_are_distinct_and_frequent_ones_short():
    words = _words()
    assert len(set(words)) == len(words) == 8000
    assert len(words[0]) <= len(words[-1])


def test_phrases_have_lengths_like_the_set_and_both_labels():
    phrases, labels = generate(4000, seed=1)
    lengths = [len(p.split()) for p in phrases]
    assert min(lengths) >= 2
    assert max(lengths) <= 40
    assert 8 < np.mean(lengths) < 13
    assert 0.35 < labels.mean() < 0.75


def test_labels_follow_the_words():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    phrases, labels = generate(4000, seed=1)
    counts = CountVectorizer(min_df=5).fit_transform(phrases)
    model = LogisticRegression(max_iter=200).fit(counts[:3000], labels[:3000])
    majority = max(labels[3000:].mean(), 1 - labels[3000:].mean())
    assert model.score(counts[3000:], labels[3000:]) > majority + 0.1


def test_a_seed_fixes_the_phrases():
    assert generate(30, seed=1)[0] == generate(30, seed=1)[0] != generate(30, seed=2)[0]


def test_no_rows_is_one_clear_error():
    with pytest.raises(UserError, match="rows"):
        generate(0, seed=1)
