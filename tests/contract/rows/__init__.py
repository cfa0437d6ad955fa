"""Tables that the laws are tested on."""
