"""Figures as text: small pure functions from numbers to inline SVG, coloured by the classes of the style sheet."""
