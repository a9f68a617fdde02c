"""Conversations as token ids through any chat template."""

from pivotlab.rendering.renderer import Conversation, Renderer, last_observations
from pivotlab.rendering.template import Capabilities, ChatTemplate, LostText

__all__ = [
    "Capabilities",
    "ChatTemplate",
    "Conversation",
    "LostText",
    "Renderer",
    "last_observations",
]
