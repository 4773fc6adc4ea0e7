"""What the SDKs have of the API, made from the server's own description of it: `make sdk-types`."""
