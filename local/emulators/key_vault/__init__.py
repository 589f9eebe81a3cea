"""An emulator of Azure Key Vault for secrets, for the unmodified `azure-keyvault-secrets` SDK over TLS.

It has: set, get (the newest, or by version), update of attributes, lists of secrets and versions, delete; the
challenge of a request without a token; Azure's error bodies, names and limits; versions that are on disk before they
are answered. It has not: recover and purge, backup and restore, certificates behind secrets, access policies,
throttling, the delay with which Azure deletes. A token is compared with one fixed word, not validated.

`python -m local.emulators.key_vault --port PORT --directory DIRECTORY`. It prints `ready https://127.0.0.1:<port>`
when it answers; port 0 picks a free one. The directory gets `ca.pem`, by which clients trust it, and what only it
reads.
"""

TOKEN = "local-key-vault-token"
"""The bearer token, known to everyone as the storage emulator's key is: the vault listens on this machine only."""
