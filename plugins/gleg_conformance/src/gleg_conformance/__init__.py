"""The conformance kit: what a component must satisfy so that others can rely on it, as checks that can fail.

A check is a function of a :class:`~gleg_conformance.kit.Subject` (a component with one of its examples as parameters) that
returns a measured number and its limit. ``gleg check PACK`` runs the checks of every contract a pack implements; authors run the same
checks in their own test suites with :func:`gleg_conformance.testing.conformance`.
"""

VERSION = "2.1"
"""Raised when checks are added or become stricter; a report says which version it is of."""
