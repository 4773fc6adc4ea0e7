//! Blobs.
