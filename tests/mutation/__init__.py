"""Planted mistakes: each breaks one guarantee in a copy of the project, and a test must catch it."""
