"""Methods that group records along a curve: hilbert, idistance."""
