"""The compared settings of PivotOPD, their cells and teachers."""
