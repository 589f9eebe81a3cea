"""Checks infra/ without Azure: syntax, properties, symbols, secrets, and names that the code has, too.

If that finds nothing, `plan` evaluates what each scenario of infra/plans deploys. `snapshots` compares it with the
committed plan, and invariants hold whatever that says. A workflow asks Bicep's own compiler and Azure besides.
"""
