"""A cluster whose agents talk to a model that follows a plan and keeps its requests (harness/recording_model.py)."""
import os

from .recording_model import RecordingModel
from .turns import TurnCluster


class RecordedCluster(TurnCluster):
    """The model is called `recorded`; `agents`: the configuration of those that use it."""

    def __init__(self, agents, model=None, **options):
        self.model = model or RecordingModel()
        config = f'[[models]]\nname = "recorded"\nprovider = "openai"\nmodel = "m"\nbase_url = "{self.model.url}"\nkey_env = "NO_KEY"\n{agents}'
        super().__init__([{"text": "ok"}], config, **options)

    def start_controller(self, flags=(), **options):
        return super().start_controller(flags, env={**os.environ, "NO_KEY": "a-key-of-no-value"}, **options)

    def close(self):
        super().close()
        self.model.close()
