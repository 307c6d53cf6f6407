"""``python -m pages`` builds the site, ``python -m pages draw`` draws its pictures anew."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if sys.argv[1:] == ["draw"]:
        from pages.draw import main
    elif not sys.argv[1:]:
        from pages.build import main
    else:
        raise SystemExit(__doc__)
    main()
