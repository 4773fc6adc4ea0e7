"""Workers and a client for Signaller, over its HTTP API. No dependencies."""

from .attempt import Context, Fail, Retry
from .client import Client, SignallerError
from .worker import Worker

__all__ = ["Client", "Context", "Fail", "Retry", "SignallerError", "Worker"]
