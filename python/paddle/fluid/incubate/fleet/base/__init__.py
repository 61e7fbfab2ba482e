"""Roles, and what all kinds of Fleet share."""
