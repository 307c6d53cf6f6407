"""From classes to a release: recode, publish, verify, certify."""
