"""Where the pods of a Service are: which addresses and ports (`addresses`), written as Endpoints
(`endpoints`) and EndpointSlices (`slices`); hand-made Endpoints as slices (`mirroring`)."""
