"""Workers and a client for Signaller, over its HTTP API. No dependencies."""

from .client import Client
from .errors import Fail, Retry, SignallerError
from .worker import Context, Worker

__all__ = ["Client", "Context", "Fail", "Retry", "SignallerError", "Worker"]
