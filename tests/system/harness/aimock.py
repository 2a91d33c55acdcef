"""aimock (npm): all model APIs that quell speaks, slow on purpose, with its own record of hang-ups."""
import json
import os
import re
import subprocess
import urllib.request

from harness.cluster import free_ports
from harness.peers import installed
from harness.waiting import until

PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "responses": "/v1/responses"}
#: As models of the configuration.
KINDS = {"openai": 'provider = "openai"', "anthropic": 'provider = "anthropic"', "responses": 'provider = "openai"\napi = "responses"'}


class Aimock:
    """20 ms between pieces of 6 characters."""

    def __init__(self, folder, fixtures):
        home = installed("aimock-1.43.0", ["@copilotkit/aimock@1.43.0"])
        cli = os.path.join(home, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
        path = os.path.join(folder, "fixtures.json")
        with open(path, "w") as f:
            json.dump({"fixtures": fixtures}, f)
        port, = free_ports(1)
        self.root = f"http://127.0.0.1:{port}"
        self.url = self.root + "/v1"
        self.log = open(os.path.join(folder, "log"), "w+")
        self.process = subprocess.Popen(["node", cli, "-p", str(port), "-f", path, "--metrics", "-l", "20", "-c", "6", "--log-level", "warn"],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            until(self.answers, "aimock to answer")
        except BaseException:
            self.close()
            raise

    def get(self, path):
        with urllib.request.urlopen(self.root + path, timeout=60) as answer:
            return answer.read().decode()

    def answers(self):
        try:
            return self.get("/metrics")
        except OSError:
            return None

    def hung_up(self, provider):
        found = re.search(rf'aimock_requests_total{{method="POST",path="{PATHS[provider]}",status="destroyed"}} (\d+)', self.get("/metrics"))
        return int(found.group(1)) if found else 0

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
