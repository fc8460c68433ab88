"""Recording and replay of serialised messages, free of ROS; the nodes ``recorder`` and ``player`` wrap it."""

from __future__ import annotations

from pkm_bringup.recording.playback import Playback
from pkm_bringup.recording.recording import BagRecording, offered_qos

__all__ = ['BagRecording', 'Playback', 'offered_qos']
