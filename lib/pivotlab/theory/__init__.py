"""The papers' statements on finite action sets, exact and in float64.

One file per idea, numpy only, nothing imported from the rest of the project:
`group_advantage` and `filter_error` (PivotRL Prop. 3.1, Eqs. 1, 4, 5), `kl_path`
(Thm 3.2), `functional_reward` (Thm 3.3), `pivotopd_logits` (PivotOPD Props. 1-3 and
Lemmas 1-3).
"""
