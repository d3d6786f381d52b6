"""Options that several commands have."""

from functools import partial
from pathlib import Path

import click

from inkube.apiserver.configuration import LOCAL

FILE = click.Path(path_type=Path, dir_okay=False)
KUBECONFIG = click.Path(path_type=Path, dir_okay=False, exists=True)
data_option = partial(click.option, "--data", type=FILE, default=LOCAL, show_default=True)
CLUSTER_DATA = data_option(help="The data of the cluster: of inkube import, capture or serve.")
OUTPUT = click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
