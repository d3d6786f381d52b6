"""`inkube validate` of 5,000 documents: its processor time over that of parsing them as YAML with
libyaml, and the time with two processes over that with one. Modules are compiled before, as they
are after an installation.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import yaml

from benchmarks import figures, servers
from benchmarks.figures import Figure

DOCUMENTS = 5_000
PER_FILE = 25
VALIDATE = ("-m", "inkube", "validate")
RUNS = 3
"""Runs in turn, of which the fastest counts: others use the processors, too."""
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
  namespace: shop
  labels: {{app.kubernetes.io/name: web, app.kubernetes.io/part-of: shop}}
spec:
  replicas: 3
  selector:
    matchLabels: {{app: web-{number}}}
  template:
    metadata:
      labels: {{app: web-{number}}}
    spec:
      containers:
      - name: web
        image: registry.example.com/shop/web:1.{number}
        ports:
        - {{name: http, containerPort: 8080}}
        env:
        - name: MODE
          value: production
        - name: POD
          valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}
        resources:
          requests: {{cpu: 100m, memory: 128Mi}}
          limits: {{memory: 256Mi}}
        readinessProbe:
          httpGet: {{path: /ready, port: http}}
"""


def measure() -> Iterable[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder)
        parsing = _cpu_of_parsing(folder)
        servers.done(*VALIDATE, f"{folder}/one")  # compiles the modules
        empty, _ = servers.done(*VALIDATE, f"{folder}/one")
        many = (*VALIDATE, f"{folder}/many")
        runs = [(servers.done(*many), servers.done(*many, "-j", "2")) for _ in range(RUNS)]
    (used, one), (_, two) = (map(min, zip(*each, strict=True)) for each in zip(*runs, strict=True))
    ratio = (used - empty) / parsing
    note = f"{(used - empty) * 1000 / DOCUMENTS:.2f} ms a document"
    yield Figure("CPU of validate over parsing YAML", ratio, "times", at_most=4, note=note)
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    note = f"{two:.1f} over {one:.1f} s on {cores} cores"
    yield Figure("time of validate -j 2 over -j 1", two / one, "times", at_most=0.6, note=note)


def _write(folder: Path) -> None:
    for name, files in (("one", 1), ("many", DOCUMENTS // PER_FILE)):
        (folder / name).mkdir()
        for file in range(files):
            count = 1 if name == "one" else PER_FILE
            texts = (MANIFEST.format(number=file * PER_FILE + at) for at in range(count))
            (folder / name / f"{file:04}.yaml").write_text("---\n".join(texts))


def _cpu_of_parsing(folder: Path) -> float:
    bodies = [file.read_bytes() for file in sorted((folder / "many").iterdir())]
    started = time.process_time()
    for body in bodies:
        for _ in yaml.load_all(body, Loader=yaml.CSafeLoader):
            pass
    return time.process_time() - started


if __name__ == "__main__":
    figures.main(measure)
