"""Formats of Kubernetes and Go for modules and controllers: parsers, rules and forms of values.

    from inkube.formats import quantity, selectors

    selectors.selects({"matchLabels": {"app": "boats"}}, {"app": "boats"})  # True
    quantity.parse("1500m").as_float()  # 1.5

They read and write values as kube-apiserver does. Most names are modules with functions:

    quantity, selectors      amounts such as `1500m`; label selectors and field selectors
    names, resources         rules of names and labels; resources by the names that clients use
    bodies, documents        bodies of requests, and files of YAML, as values
    fielderrors              one `FieldError` for each reason of field.Error
    cel, deviceselectors     expressions, with a limit of their cost; those that select devices
    podrestarts              what follows the end of a container, by its rules and policies
    gotext, gotime           texts and numbers as Go prints them; durations and times of Go
    cron                     schedules of CronJobs, as robfig/cron reads them
    goyaml, regexp, rfc3339  YAML, regular expressions and times as Go reads them
    caches                   caches with a bound

A text that is not valid raises ValueError or one of its subclasses. Names are loaded when they are
first used.
"""

from inkube.schemas import lazy

__getattr__, __dir__ = lazy.public(__name__)
