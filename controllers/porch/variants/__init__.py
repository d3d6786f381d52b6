"""PackageVariant and PackageVariantSet: controllers that draft revisions from other revisions.

Input: the current objects. Output: drafts and conditions. Users propose and approve the drafts.
`porch` registers both kinds.
"""
