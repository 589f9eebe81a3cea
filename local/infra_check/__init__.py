"""Checks infra/ without Azure: syntax, properties, symbols, roles, secrets, and names that the code relies on.

If that finds nothing, `plan` works out what each of some deployments would make, and the modules named in `plans`
compare it with what has to be: grants, settings, ways through the network, what watches, sizes.

Bicep's own compiler and Azure know more, and a workflow asks them; this one answers in seconds and everywhere. It knows
what memnet's templates use, and says so where it knows no more.
"""
