"""The addresses and ports of a Service's pods (`addresses`), written as Endpoints (`endpoints`) and
EndpointSlices (`slices`), and copies of users' Endpoints as EndpointSlices (`mirroring`)."""
