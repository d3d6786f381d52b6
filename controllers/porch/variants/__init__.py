"""PackageVariant and PackageVariantSet: controllers that draft revisions of other revisions.

In come objects as they are, out come drafts and conditions; proposing and approving is for people.
`porch` registers both kinds.
"""
