"""Amounts are written back in the one spelling that Kubernetes gives them."""

import pytest

from kubeproxy.config.quantity import canonical_quantity, whole_bytes


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"), ("0Ki", "0"), ("-0", "0"), ("1", "1"), ("+5", "5"), ("64Ki", "64Ki"), ("1024Ki", "1Mi"),
        ("1024", "1024"), ("1000", "1k"), ("1500", "1500"), ("1.5M", "1500k"), ("0.5Ki", "512"), ("1e3", "1e3"),
        ("10e2", "1e3"), ("1E", "1E"), ("100m", "100m"), ("0.1", "100m"), (".5", "500m"), ("5.", "5"), ("-2k", "-2k"),
        ("1.5Gi", "1536Mi"), ("1u", "1u"), ("0.1n", "1n"),
    ],
)  # fmt: skip
def test_one_spelling(text, canonical):
    assert canonical_quantity(text) == canonical


@pytest.mark.parametrize("text", ["", "x", "1KB", "1 Ki", "--1", "Ki", "1ki", ".", "0x10", "1e", "1" * 60])
def test_what_is_no_amount(text):
    with pytest.raises(ValueError, match="quantities must match"):
        canonical_quantity(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("64Ki", 65536), ("1M", 10**6), ("1500m", 2), ("1n", 1), ("-1k", 0), ("1e3", 1000)],
)
def test_an_amount_as_a_number_of_bytes(text, number):
    assert whole_bytes(text) == number
