"""The default objects of every namespace, Secrets with tokens of ServiceAccounts, and the signer of
CertificateSigningRequests."""
