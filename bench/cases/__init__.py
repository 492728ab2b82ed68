"""One file for each case: `measure(run)` returns what it found as plain data, `report(found)` makes a section of it."""
