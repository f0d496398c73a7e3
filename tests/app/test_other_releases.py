"""What releases are of that are not of the data as it is now."""

from dataclasses import replace

from dpsyn.app.lab.releases import _OtherData, _what_differs
from dpsyn.kit import visit


def test_one_column_that_differs_is_one() -> None:
    now = visit.bundled("asia")
    first, second = now.table.domain.attributes[:2]
    for changed, said in ((1, f"the column {first.name}."), (2, f"the columns {first.name}, {second.name}.")):
        kept = [replace(a, public=not a.public) for a in (first, second)[:changed]]
        domain = now.table.domain
        for attribute in kept:
            domain = domain.replace(attribute)
        other = _OtherData(now.table.name, domain, None)
        assert _what_differs(now, other) == f"What differs from the data as it is now: {said}"
