"""The forms and checks of objects: pure functions over plain JSON values, no I/O.

This folder contains the modules that all rooms use: `objects`, `meta`, `definitions`, `status`,
`fielderrors`, `selectors`, `quantity`, `bodies`. `models` declares kinds in Python, and `offline`
validates without a server. Each large subject has a room, the lowest first:

    golang      how Go reads and writes
    gotypes     the Go types of Kubernetes' API, and the one decoder of their JSON
    metadata    ObjectMeta
    patch       JSON, merge and strategic merge patches
    ownership   managedFields and server-side apply
    structural  structural schemas, and values under them
    cel         the Common Expression Language
    crds        the kind CustomResourceDefinition
    policies    admission policies
    webhooks    admission and conversion webhooks
    builtin     built-in kinds
    openapi     documents of all of them

Every cache is declared in `caches`.
"""
