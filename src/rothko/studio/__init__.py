"""The studio: a page on loopback in which a steward does for one table what the command line does.

It is never a second implementation: it edits a :class:`~rothko.policy.policy.Policy` and calls the library. Three
processes share the work::

    browser ── pages, fragments, events ──► server ── jobs ──► worker that looks (columns stay in it, encoded)
                                                        └────► worker that makes (releases, comparisons; may be killed)

- ``server.py`` has the routes, ``guard.py`` says who may in, ``shell.py`` is the page around a view, ``markup.py``
  writes HTML (and is, with :mod:`rothko.report.page`, the only place where text becomes HTML).
- ``desk.py`` is all state: the table, the policy with its history, what the workers found, the runs. It is in the
  server's memory, so a reload, a second tab, a lost connection and a killed worker lose nothing but the run. Files
  (dropped tables, releases that were not taken away yet) lie in a private folder that is removed at the end.
- ``worker.py`` is a process at both of its ends; ``jobs/`` is what a worker can do, a plain registry of functions that
  take and give what can be pickled.
- ``views/`` has one module for each view with one :class:`~rothko.studio.views.view.View`: its body, its actions (posts
  that change the desk and answer with fragments), its parts (fragments that are fetched again when something was
  found), its files. ``views/__init__.py`` lists them. To add a view: a module, its line there, its test.
- ``studio.js`` swaps fragments by their id and listens to events, which carry names of parts and no data.

A fragment is an element with an id. What an action returns replaces the elements of these ids in the page; an event
names parts, and the page fetches those that it shows.
"""
