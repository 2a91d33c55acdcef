"""A sound server of its own: a loudspeaker that is recorded, and a microphone that the test speaks into. It leaves nothing behind."""
import os
import shutil
import subprocess
import tempfile
import time

from .waiting import until

SAMPLES_PER_SECOND = 16000
FORM = ["--raw", "--format=s16le", f"--rate={SAMPLES_PER_SECOND}", "--channels=1"]


class SoundServer:
    """PulseAudio with two null sinks: `speaker`, and `room`, whose monitor is the microphone. `looped`: the microphone is in front of the loudspeaker."""

    def __init__(self, looped=False, modules=(), source=None, sink="speaker"):
        self.directory = tempfile.mkdtemp(prefix="quell-sound-")
        self.address = f"unix:{self.directory}/native"
        self.talk = {"PULSE_SERVER": self.address, "PULSE_SINK": sink, "PULSE_SOURCE": source or ("speaker.monitor" if looped else "room.monitor")}
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.directory, "XDG_RUNTIME_DIR": self.directory, "PULSE_RUNTIME_PATH": self.directory,
                            "PULSE_STATE_PATH": self.directory, "PULSE_SERVER": self.address, "LC_ALL": "C"}
        sinks = [f"module-null-sink sink_name={name} format=s16le rate={SAMPLES_PER_SECOND} channels=1" for name in ("speaker", "room")]
        protocol = f"module-native-protocol-unix socket={self.directory}/native auth-anonymous=1"
        loads = [part for module in (*sinks, *modules, protocol) for part in ("-L", module)]
        self.log = open(os.path.join(self.directory, "log"), "wb")
        self.daemon = subprocess.Popen(["pulseaudio", "-n", "--daemonize=no", "--use-pid-file=no", "--exit-idle-time=-1", "--disable-shm=yes", "--realtime=no",
                                        "--high-priority=no", "--log-target=stderr", *loads], env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.children = []
        try:
            until(lambda: subprocess.run(["pactl", "info"], env=self.environment, capture_output=True).returncode == 0, "the sound server to answer")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for child in [*self.children, self.daemon]:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def play(self, samples, sink="room"):
        """Plays the samples to their end. Silence surrounds them: a sink that wakes up can swallow the first ones."""
        pause = b"\0" * (SAMPLES_PER_SECOND // 5 * 2)
        samples = pause + samples + b"\0" * (len(samples) % 2) + pause
        subprocess.run(["pacat", "--playback", f"--device={sink}", "--latency-msec=20", *FORM], input=samples, env=self.environment, check=True, timeout=60)

    def say(self, words):
        """Plays a line for the harness's recogniser until it was heard in the room: a starved sound server drops some. The first byte makes the recogniser forget a part."""
        said = b"\x18" + words.encode() + b"\n"
        with self.record("room.monitor") as room:
            for _ in range(20):
                self.play(said)
                room.goes_on(0.2)
                if said in room.samples:
                    return
        raise AssertionError(f"the sound server drops {words!r} again and again")

    def record(self, source="speaker.monitor"):
        return Recording(self, source)


class Recording:
    """What comes out of the loudspeaker, with the time at which it came. Reads only during its method calls."""

    def __init__(self, server, source):
        self.process = subprocess.Popen(["pacat", "--record", f"--device={source}", "--latency-msec=5", *FORM], env=server.environment, stdout=subprocess.PIPE)
        server.children.append(self.process)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.samples, self.pieces = b"", []
        until(lambda: self.read(), "the recording to begin")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def read(self):
        while True:
            piece = self.process.stdout.read(1 << 14)
            if not piece:
                return self.samples
            self.samples += piece
            self.pieces.append((time.monotonic(), piece))

    def wait_for(self, letter, since=0, seconds=60):
        """Until this sound of the harness's voice is heard."""
        until(lambda: letter * 32 in self.read()[since:], f"the sound {letter!r}", seconds)

    def last_sound_ms(self, since):
        """Milliseconds from `since` (of the monotonic clock) to the arrival of the last sample that is not silence; 0 if none came."""
        self.read()
        loud = [at for at, piece in self.pieces if at > since and piece.strip(b"\0")]
        return (loud[-1] - since) * 1000 if loud else 0.0

    def goes_on(self, seconds):
        """Reads so much more of it."""
        end = len(self.read()) + int(seconds * 2 * SAMPLES_PER_SECOND)
        until(lambda: len(self.read()) >= end, f"{seconds} s more of the recording", seconds + 60)
