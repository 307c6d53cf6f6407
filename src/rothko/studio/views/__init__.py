"""The views of the studio, in the order of the work."""

from __future__ import annotations

from rothko.studio.views import hierarchies, purpose, requirements, result, roles, running, start, take_away
from rothko.studio.views.view import View

VIEWS: dict[str, View] = {
    view.word: view
    for view in (
        start.VIEW,
        roles.VIEW,
        hierarchies.VIEW,
        requirements.VIEW,
        purpose.VIEW,
        running.VIEW,
        result.VIEW,
        take_away.VIEW,
    )
}
"""Word in addresses → view."""
