"""What objects may look like: pure functions over plain JSON values, no I/O.

The words everybody uses lie here: `objects`, `meta`, `definitions`, `status`, `fielderrors`,
`selectors`, `quantity`, `bodies`; `models` declares kinds in Python and `offline` validates without
a server. What is one large thing has a room, lowest first:

    golang      how Go reads and writes
    gotypes     the Go types of Kubernetes' API, and the one decoder of their JSON
    metadata    ObjectMeta
    patch       JSON, merge and strategic merge patches
    ownership   managedFields and server-side apply
    structural  structural schemas and what they say of values
    cel         the Common Expression Language
    crds        the kind CustomResourceDefinition
    policies    admission policies
    webhooks    admission and conversion webhooks
    builtin     built-in kinds
    openapi     documents of all of them

Every cache is declared in `caches`.
"""
