"""The article as a program: train a network that invents pet names, and let it invent some."""
