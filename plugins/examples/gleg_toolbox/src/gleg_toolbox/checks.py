"""A check of the conformance kit, which imports this module when it runs: gleg-conformance is installed then."""

from gleg_conformance.kit import Finding, Subject


def no_full_stop(subject: Subject) -> Finding:
    """Listings show summaries without punctuation."""
    return Finding(float(subject.component.entry.summary.endswith(".")), 0.0, "full stops at the end of the summary")
