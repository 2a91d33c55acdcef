"""Puts the harness on the path; every test gets its own cluster from `Cluster`."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
