"""The APIs of Mintlake, typed: AsyncMintlake, and Mintlake for programs without an event loop."""

from . import models, swap_models
from ._async import AsyncMintlake
from ._errors import MintlakeError, NotAFeed
from ._feed import Changed, Cursor, Event, Removed, Reset
from ._pages import Batch, Tokens
from ._sync import Mintlake

__all__ = [
    "AsyncMintlake", "Batch", "Changed", "Cursor", "Event", "Mintlake", "MintlakeError", "NotAFeed", "Removed", "Reset", "Tokens", "models", "swap_models",
]
