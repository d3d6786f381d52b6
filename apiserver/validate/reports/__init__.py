"""Results as text: for people, and for the programs that pipelines have.

Input: a `Result` and a `Style`. Output: the text of a report.
"""

from inkube.schemas import lazy

__getattr__ = lazy.exports(__name__)
