"""Admission policies: their expressions, what they match, and what they decide. No I/O.

Follows apiserver/pkg/admission/plugin/policy and pkg/apis/admissionregistration/validation.
"""
